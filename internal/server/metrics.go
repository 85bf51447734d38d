package server

import (
	"net/http"
	"runtime/debug"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics are what /metrics shows. Labels come from fixed sets: a route's template, never a path.
type metrics struct {
	handler  http.Handler
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
}

func newMetrics() *metrics {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "gantry_http_requests_total", Help: "Answered requests.",
		}, []string{"route", "method", "code"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "gantry_http_request_duration_seconds", Help: "Time from a request's header to the end of its answer.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10, 60, 600},
		}, []string{"route", "method"}),
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "gantry_build_info", Help: "Always 1; the labels tell what is running.", ConstLabels: buildLabels(),
	})
	build.Set(1)
	registry := prometheus.NewRegistry()
	registry.MustRegister(m.requests, m.duration, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.handler = promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
	return m
}

func buildLabels() prometheus.Labels {
	labels := prometheus.Labels{"version": "", "go": ""}
	if info, ok := debug.ReadBuildInfo(); ok {
		labels["version"], labels["go"] = info.Main.Version, info.GoVersion
	}
	return labels
}

// methods are those that a route may have; others count as one, so that callers cannot make up labels.
var methods = map[string]bool{
	http.MethodGet: true, http.MethodHead: true, http.MethodPost: true, http.MethodPut: true, http.MethodPatch: true,
	http.MethodDelete: true, http.MethodOptions: true,
}

func (m *metrics) observe(o observation) {
	method := o.method
	if !methods[method] {
		method = "other"
	}
	m.requests.WithLabelValues(o.route, method, strconv.Itoa(o.status)).Inc()
	m.duration.WithLabelValues(o.route, method).Observe(o.took.Seconds())
}
