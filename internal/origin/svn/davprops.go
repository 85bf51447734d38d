package svn

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"gantry/internal/origin"
)

// davProp is a property of WebDAV. Its value is text, the address of something, or what kind of thing it belongs to.
type davProp struct {
	name       xmlName
	value      []byte
	href       string
	collection bool
}

const maxDavProps = 1 << 16 // of one resource

// propfind asks for properties of a resource, of all that it has when none is named, and tells of each resource in the
// answer those that it has.
func (s *davSession) propfind(ctx context.Context, r davRequest, names []xmlName, each func(href string, props []davProp) error) error {
	r.method = "PROPFIND"
	r.body = xmlPrefix + `<D:propfind xmlns:D="DAV:"><D:allprop/></D:propfind>`
	if len(names) > 0 {
		var wanted strings.Builder
		for _, n := range names {
			fmt.Fprintf(&wanted, `<p:%s xmlns:p="%s"/>`, n.local, n.space)
		}
		r.body = xmlPrefix + `<D:propfind xmlns:D="DAV:"><D:prop>` + wanted.String() + `</D:prop></D:propfind>`
	}
	answered := false
	err := s.ask(ctx, r, func(_ http.Header, x *xmlReader) error {
		return readMultistatus(x, func(href string, props []davProp) error {
			answered = true
			return each(href, props)
		})
	})
	if err == nil && !answered {
		err = malformedf("it answers %s with nothing", r.method)
	}
	return err
}

// readMultistatus reads a D:multistatus.
func readMultistatus(x *xmlReader, each func(href string, props []davProp) error) error {
	if err := x.root(xmlName{nsDAV, "multistatus"}); err != nil {
		return err
	}
	return x.each(func(name xmlName) error {
		if name != (xmlName{nsDAV, "response"}) {
			return nil
		}
		var href string
		var props []davProp
		var size int64
		refused := false // a part of a directory that the user may not see
		err := x.each(func(name xmlName) (err error) {
			switch name {
			case xmlName{nsDAV, "href"}:
				href, err = readHref(x)
			case xmlName{nsDAV, "propstat"}:
				props, err = readPropstat(x, props, &size)
			case xmlName{nsDAV, "status"}:
				refused = true
			}
			return err
		})
		if err != nil || refused {
			return err
		}
		return each(href, props)
	})
}

// readHref reads an address and returns its escaped path.
func readHref(x *xmlReader) (string, error) {
	text, err := x.text(maxPath)
	if err != nil {
		return "", err
	}
	u, err := url.Parse(strings.TrimSpace(string(text)))
	if err != nil || !strings.HasPrefix(u.Path, "/") {
		return "", malformedf("%.100q is no address", text)
	}
	return u.EscapedPath(), nil
}

// readPropstat adds the properties of a D:propstat, unless it is about those that are not there.
func readPropstat(x *xmlReader, props []davProp, size *int64) ([]davProp, error) {
	before := len(props)
	there := true
	err := x.each(func(name xmlName) error {
		switch name {
		case xmlName{nsDAV, "status"}:
			status, err := x.text(maxText)
			there = strings.Contains(string(status), " 200 ")
			return err
		case xmlName{nsDAV, "prop"}:
			return x.each(func(name xmlName) error {
				p, err := readProp(x, name)
				if err != nil {
					return err
				}
				if *size, err = addPropSize(*size, origin.Prop{Name: p.name.String(), Value: p.value}); err != nil {
					return err
				}
				if len(props) == maxDavProps {
					return malformed("it tells properties without end")
				}
				props = append(props, p)
				return nil
			})
		}
		return nil
	})
	if !there {
		props = props[:before]
	}
	return props, err
}

// readProp reads the element of one property.
func readProp(x *xmlReader, name xmlName) (davProp, error) {
	p := davProp{name: name}
	var err error
	switch name {
	case xmlName{nsDAV, "version-controlled-configuration"}, xmlName{nsDAV, "checked-in"}, xmlName{nsDAV, "baseline-collection"}:
		err = x.each(func(name xmlName) (err error) {
			if name == (xmlName{nsDAV, "href"}) {
				p.href, err = readHref(x)
			}
			return err
		})
	case xmlName{nsDAV, "resourcetype"}:
		err = x.each(func(name xmlName) error {
			p.collection = p.collection || name == (xmlName{nsDAV, "collection"})
			return nil
		})
	case xmlName{nsDAV, "version-name"}, xmlName{nsDAV, "getcontentlength"}, xmlName{nsSVNDAV, "baseline-relative-path"}, xmlName{nsSVNDAV, "repository-uuid"}:
		p.value, err = x.text(maxPath)
	default:
		if name.space == nsProp || name.space == nsCustom {
			p.value, err = readValue(x)
		}
	}
	return p, err
}

// readValue reads an element that holds a value of Subversion's, in base64 where XML could not hold it otherwise.
func readValue(x *xmlReader) ([]byte, error) {
	if encoding, _ := x.attr("encoding"); encoding == "base64" {
		return x.base64Text(maxPropsBytes)
	}
	value, err := x.text(maxPropsBytes)
	if value == nil {
		value = []byte{}
	}
	return value, err
}
