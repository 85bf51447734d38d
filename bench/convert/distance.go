package main

import (
	"bytes"
	"net"
	"time"
)

// distance is a proxy that keeps whatever passes for half of a round trip in each direction, without making it any
// slower otherwise: a server behind it is far away.
type distance struct {
	listener  net.Listener
	target    string
	roundTrip time.Duration
}

func newDistance(target string, roundTrip time.Duration) (*distance, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	d := &distance{l, target, roundTrip}
	go d.serve()
	return d, nil
}

func (d *distance) address() string { return d.listener.Addr().String() }

func (d *distance) close() error { return d.listener.Close() }

func (d *distance) serve() {
	for {
		near, err := d.listener.Accept()
		if err != nil {
			return
		}
		go d.connect(near)
	}
}

func (d *distance) connect(near net.Conn) {
	defer near.Close()
	time.Sleep(d.roundTrip) // of the connection's own making
	far, err := net.Dial("tcp", d.target)
	if err != nil {
		return
	}
	defer far.Close()
	there := make(chan struct{})
	go func() {
		d.carry(far, near)
		close(there)
	}()
	d.carry(near, far)
	<-there
}

// parcel is something on its way.
type parcel struct {
	data []byte
	due  time.Time
}

const (
	parcelBytes = 32 << 10
	onTheWay    = 1024 // parcels: 32 MB in 25 ms are more than any line carries
)

// carry takes what comes from one side to the other, until either has closed.
func (d *distance) carry(to, from net.Conn) {
	way := make(chan parcel, onTheWay)
	go func() {
		defer close(way)
		data := make([]byte, parcelBytes)
		for {
			n, err := from.Read(data)
			if err != nil {
				return
			}
			way <- parcel{bytes.Clone(data[:n]), time.Now().Add(d.roundTrip / 2)}
		}
	}()
	for p := range way {
		time.Sleep(time.Until(p.due))
		if _, err := to.Write(p.data); err != nil {
			break
		}
	}
	to.(*net.TCPConn).CloseWrite()
	from.(*net.TCPConn).CloseRead() // ends the reader
	for range way {
	}
}
