// The peer in client-go: a shared informer with a typed REST client, as an operator would have it. benches/README.md
// says what a peer is told and what it answers.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

type answer map[string]any

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "client-go:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) < 3 {
		return fmt.Errorf("usage: peer-client-go URL OBJECTS EVENTS")
	}
	objects, err := strconv.ParseInt(arguments[1], 10, 64)
	if err != nil {
		return err
	}
	events, err := strconv.ParseInt(arguments[2], 10, 64)
	if err != nil {
		return err
	}
	client, err := restClient(arguments[0])
	if err != nil {
		return err
	}

	say(answer{"phase": "started"})
	commands := bufio.NewScanner(os.Stdin)
	for {
		if !commands.Scan() {
			return fmt.Errorf("no start")
		}
		if commands.Text() == "start" {
			break
		}
		say(collected())
	}

	start := time.Now()
	listWatch := cache.NewListWatchFromClient(client, "gameservers", metav1.NamespaceAll, fields.Everything())
	indexers := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
	informer := cache.NewSharedIndexInformer(listWatch, &GameServer{}, 0, indexers)
	var adds, updates atomic.Int64
	var first time.Time
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { adds.Add(1) },
		UpdateFunc: func(any, any) {
			count := updates.Add(1)
			if count == 1 {
				first = time.Now()
			}
			if count == events {
				say(answer{"phase": "watched", "seconds": time.Since(first).Seconds()})
			}
		},
	})
	if err != nil {
		return err
	}
	go informer.RunWithContext(context.Background())
	for !registration.HasSynced() {
		time.Sleep(time.Millisecond)
	}
	say(answer{"phase": "synced", "seconds": time.Since(start).Seconds(), "adds": adds.Load()})

	for commands.Scan() {
		switch commands.Text() {
		case "collect":
			say(collected())
		case "report":
			say(report(informer.GetStore(), objects, adds.Load(), updates.Load()))
		default:
			return nil
		}
	}
	return commands.Err()
}

func restClient(url string) (*rest.RESTClient, error) {
	scheme := kruntime.NewScheme()
	scheme.AddKnownTypes(groupVersion, &GameServer{}, &GameServerList{})
	metav1.AddToGroupVersion(scheme, groupVersion)
	return rest.RESTClientFor(&rest.Config{
		Host:    url,
		APIPath: "/apis",
		ContentConfig: rest.ContentConfig{
			GroupVersion:         &groupVersion,
			NegotiatedSerializer: serializer.NewCodecFactory(scheme).WithoutConversion(),
		},
		// What the Agones controller is deployed with.
		QPS:   400,
		Burst: 500,
	})
}

func collected() answer {
	// A collection, and then all free memory goes back to the system.
	debug.FreeOSMemory()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return answer{"phase": "collected", "live": memory.HeapAlloc}
}

func report(store cache.Store, objects, adds, updates int64) answer {
	held := store.List()
	var digest uint64
	for _, object := range held {
		server := object.(*GameServer)
		hash := fnv.New64a()
		fmt.Fprintf(hash, "%s %s %s", server.Name, server.ResourceVersion, server.Status.State)
		digest += hash.Sum64()
	}
	return answer{
		"phase":    "report",
		"complete": int64(len(held)) == objects,
		"objects":  len(held),
		"adds":     adds,
		"updates":  updates,
		"digest":   strconv.FormatUint(digest, 10),
	}
}

func say(line answer) {
	text, err := json.Marshal(line)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(text))
}
