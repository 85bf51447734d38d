package api

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"gantry"
)

// page reads page and per_page. What is no number counts as not sent.
func (c *call) page() gantry.Page {
	query := c.r.URL.Query()
	return gantry.Page{Number: max(positive(query, "page"), 1), Size: positive(query, "per_page")}
}

// positive reads a number of a query, 0 when there is none. It is bounded so that no later product overflows.
func positive(query url.Values, key string) int {
	n, err := strconv.Atoi(query.Get(key))
	if err != nil || n < 0 {
		return 0
	}
	return min(n, 1<<30)
}

// since reads the id after which a list begins; 0 when none was sent.
func (c *call) since(resource string) (int64, error) {
	text := c.r.URL.Query().Get("since")
	if text == "" {
		return 0, nil
	}
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, invalidField(resource, "since", gantry.InvalidField, "since is the highest id seen so far, an integer")
	}
	return id, nil
}

// paged answers one page of a list of total entries, with links to the others.
func (a *API) paged(c *call, page gantry.Page, total int, body any) (reply, error) {
	last := max((total+page.Limit()-1)/page.Limit(), 1)
	var links []string
	add := func(rel string, number int) {
		links = append(links, "<"+a.linkTo(c, "page", strconv.Itoa(number))+`>; rel="`+rel+`"`)
	}
	if page.Number > 1 {
		add("first", 1)
		add("prev", min(page.Number-1, last))
	}
	if page.Number < last {
		add("next", page.Number+1)
		add("last", last)
	}
	return reply{status: http.StatusOK, body: body, link: strings.Join(links, ", ")}, nil
}

// linkTo is the address of the request with one query parameter changed.
func (a *API) linkTo(c *call, key, value string) string {
	query := c.r.URL.Query()
	query.Set(key, value)
	return a.URLs.API + strings.TrimPrefix(c.r.URL.EscapedPath(), enterprisePrefix) + "?" + query.Encode()
}
