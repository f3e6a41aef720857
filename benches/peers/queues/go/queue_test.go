// Measures the work queues of client-go and controller-runtime in the shapes that benches/src/queue.rs has for Lariat's.
//
// One operation is one call, or one item from its addition until it is done. Keys are made before the clock runs.
package queues

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
)

// As long as a namespace and a generated name: 37 bytes.
func keys(first, count int) []string {
	keys := make([]string, count)
	for i := range keys {
		keys[i] = fmt.Sprintf("default/simple-game-server-%010d", first+i)
	}
	return keys
}

func newQueue() workqueue.TypedRateLimitingInterface[string] {
	return workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
}

// From a minute to an hour and some, so that none ends meanwhile.
func delays() func() time.Duration {
	seed := uint64(1)
	return func() time.Duration {
		seed = seed*6364136223846793005 + 1442695040888963407
		return time.Duration(60_000+(seed>>33)%4_000_000) * time.Millisecond
	}
}

func BenchmarkOneThread(b *testing.B) {
	queue, known := newQueue(), keys(0, 1000)
	defer queue.ShutDown()
	next := 0
	for b.Loop() {
		queue.Add(known[next])
		item, _ := queue.Get()
		queue.Done(item)
		if next++; next == len(known) {
			next = 0
		}
	}
}

func BenchmarkDuplicateAdd(b *testing.B) {
	queue := newQueue()
	defer queue.ShutDown()
	known := keys(0, 1)[0]
	queue.Add(known)
	for b.Loop() {
		queue.Add(known)
	}
}

func BenchmarkAddAfter(b *testing.B) {
	for _, pending := range []int{0, 100_000, 1_000_000} {
		b.Run(fmt.Sprint(pending), func(b *testing.B) {
			queue, delay := newQueue(), delays()
			defer queue.ShutDown()
			for _, key := range keys(0, pending) {
				queue.AddAfter(key, delay())
			}
			fresh := keys(pending, b.N)
			b.ResetTimer()
			for _, key := range fresh {
				queue.AddAfter(key, delay())
			}
		})
	}
}

// New keys, each of which is charged and delayed for the first time.
func BenchmarkAddRateLimited(b *testing.B) {
	queue, fresh := newQueue(), keys(0, b.N)
	defer queue.ShutDown()
	b.ResetTimer()
	for _, key := range fresh {
		queue.AddRateLimited(key)
	}
}

// Keys that wait already.
func BenchmarkAddRateLimitedAgain(b *testing.B) {
	queue, known := newQueue(), keys(0, 1000)
	defer queue.ShutDown()
	next := 0
	for b.Loop() {
		queue.AddRateLimited(known[next])
		if next++; next == len(known) {
			next = 0
		}
	}
}

func BenchmarkManyThreads(b *testing.B) {
	for _, shape := range [][2]int{{1, 1}, {4, 4}, {8, 8}, {8, 64}} {
		b.Run(fmt.Sprintf("%dx%d", shape[0], shape[1]), func(b *testing.B) {
			queue := newQueue()
			pass(b, shape[0], shape[1], queue, func(key string, _ int) { queue.Add(key) })
		})
	}
}

// What a queue must be able to do for the measurement of many threads.
type passing interface {
	Get() (string, bool)
	Done(string)
	ShutDown()
}

// Items that are added by some goroutines and taken by others, until the last one is done.
func pass(b *testing.B, producers, workers int, queue passing, add func(string, int)) {
	all := keys(0, b.N)
	var producing, working sync.WaitGroup
	b.ResetTimer()
	for range workers {
		working.Go(func() {
			for {
				item, shutdown := queue.Get()
				if shutdown {
					return
				}
				queue.Done(item)
			}
		})
	}
	for producer := range producers {
		mine := all[len(all)*producer/producers : len(all)*(producer+1)/producers]
		producing.Go(func() {
			for number, key := range mine {
				add(key, number)
			}
		})
	}
	producing.Wait()
	queue.ShutDown()
	working.Wait()
}

func newPriorityQueue() priorityqueue.PriorityQueue[string] {
	return priorityqueue.New[string]("")
}

var priorities = [4]int{0, -100, 0, 10}

func with(number int) priorityqueue.AddOpts {
	return priorityqueue.AddOpts{Priority: &priorities[number%len(priorities)]}
}

func BenchmarkPriorityOneThread(b *testing.B) {
	queue, known := newPriorityQueue(), keys(0, 1000)
	defer queue.ShutDown()
	next := 0
	for b.Loop() {
		queue.AddWithOpts(with(next), known[next])
		item, _, _ := queue.GetWithPriority()
		queue.Done(item)
		if next++; next == len(known) {
			next = 0
		}
	}
}

// Its ShutDown drops what is queued, so the last item to be done ends it.
func BenchmarkPriorityManyThreads(b *testing.B) {
	const producers, workers = 4, 4
	queue, all := newPriorityQueue(), keys(0, b.N)
	var done sync.WaitGroup
	done.Add(b.N)
	b.ResetTimer()
	for range workers {
		go func() {
			for {
				item, _, shutdown := queue.GetWithPriority()
				if shutdown {
					return
				}
				queue.Done(item)
				done.Done()
			}
		}()
	}
	for producer := range producers {
		mine := all[len(all)*producer/producers : len(all)*(producer+1)/producers]
		go func() {
			for number, key := range mine {
				queue.AddWithOpts(with(number), key)
			}
		}()
	}
	done.Wait()
	b.StopTimer()
	queue.ShutDown()
}
