package main

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var groupVersion = schema.GroupVersion{Group: "agones.dev", Version: "v1"}

type GameServer struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   Spec   `json:"spec"`
	Status Status `json:"status"`
}

type GameServerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []GameServer `json:"items"`
}

type Spec struct {
	Container         string                 `json:"container,omitempty"`
	Ports             []Port                 `json:"ports,omitempty"`
	Health            Health                 `json:"health,omitempty"`
	Scheduling        string                 `json:"scheduling,omitempty"`
	SDKServer         SDKServer              `json:"sdkServer,omitempty"`
	Template          corev1.PodTemplateSpec `json:"template"`
	Players           *PlayersSpec           `json:"players,omitempty"`
	Counters          map[string]Counter     `json:"counters,omitempty"`
	Lists             map[string]List        `json:"lists,omitempty"`
	Eviction          *Eviction              `json:"eviction,omitempty"`
	ImmutableReplicas int32                  `json:"immutableReplicas,omitempty"`
}

type Port struct {
	Name          string  `json:"name,omitempty"`
	Range         string  `json:"range,omitempty"`
	PortPolicy    string  `json:"portPolicy,omitempty"`
	Container     *string `json:"container,omitempty"`
	ContainerPort int32   `json:"containerPort,omitempty"`
	HostPort      int32   `json:"hostPort,omitempty"`
	Protocol      string  `json:"protocol,omitempty"`
}

type Health struct {
	Disabled            bool  `json:"disabled,omitempty"`
	PeriodSeconds       int32 `json:"periodSeconds,omitempty"`
	FailureThreshold    int32 `json:"failureThreshold,omitempty"`
	InitialDelaySeconds int32 `json:"initialDelaySeconds,omitempty"`
}

type SDKServer struct {
	LogLevel string `json:"logLevel,omitempty"`
	GRPCPort int32  `json:"grpcPort,omitempty"`
	HTTPPort int32  `json:"httpPort,omitempty"`
}

type PlayersSpec struct {
	InitialCapacity int64 `json:"initialCapacity,omitempty"`
}

type Eviction struct {
	Safe string `json:"safe,omitempty"`
}

type Status struct {
	State             string               `json:"state"`
	Ports             []StatusPort         `json:"ports"`
	Address           string               `json:"address"`
	Addresses         []corev1.NodeAddress `json:"addresses"`
	NodeName          string               `json:"nodeName"`
	ReservedUntil     *metav1.Time         `json:"reservedUntil"`
	Players           *PlayerStatus        `json:"players"`
	Counters          map[string]Counter   `json:"counters,omitempty"`
	Lists             map[string]List      `json:"lists,omitempty"`
	Eviction          *Eviction            `json:"eviction,omitempty"`
	ImmutableReplicas int32                `json:"immutableReplicas"`
}

type StatusPort struct {
	Name string `json:"name,omitempty"`
	Port int32  `json:"port"`
}

type PlayerStatus struct {
	Count    int64    `json:"count"`
	Capacity int64    `json:"capacity"`
	IDs      []string `json:"ids"`
}

type Counter struct {
	Count    int64 `json:"count,omitempty"`
	Capacity int64 `json:"capacity,omitempty"`
}

type List struct {
	Capacity int64    `json:"capacity,omitempty"`
	Values   []string `json:"values,omitempty"`
}

// An informer copies no object; runtime.Object demands that one can be copied.
func (s *GameServer) DeepCopyObject() runtime.Object {
	out := *s
	out.ObjectMeta = *s.ObjectMeta.DeepCopy()
	out.Spec = s.Spec.deepCopy()
	out.Status = s.Status.deepCopy()
	return &out
}

func (l *GameServerList) DeepCopyObject() runtime.Object {
	out := *l
	out.ListMeta = *l.ListMeta.DeepCopy()
	out.Items = make([]GameServer, len(l.Items))
	for i := range l.Items {
		out.Items[i] = *l.Items[i].DeepCopyObject().(*GameServer)
	}
	return &out
}

func (s *Spec) deepCopy() Spec {
	out := *s
	out.Ports = append([]Port(nil), s.Ports...)
	for i, port := range out.Ports {
		out.Ports[i].Container = copyOf(port.Container)
	}
	out.Template = *s.Template.DeepCopy()
	out.Players = copyOf(s.Players)
	out.Counters, out.Lists = copyCounters(s.Counters), copyLists(s.Lists)
	out.Eviction = copyOf(s.Eviction)
	return out
}

func (s *Status) deepCopy() Status {
	out := *s
	out.Ports = append([]StatusPort(nil), s.Ports...)
	out.Addresses = append([]corev1.NodeAddress(nil), s.Addresses...)
	out.ReservedUntil = s.ReservedUntil.DeepCopy()
	if out.Players = copyOf(s.Players); out.Players != nil {
		out.Players.IDs = append([]string(nil), s.Players.IDs...)
	}
	out.Counters, out.Lists = copyCounters(s.Counters), copyLists(s.Lists)
	out.Eviction = copyOf(s.Eviction)
	return out
}

func copyOf[T any](value *T) *T {
	if value == nil {
		return nil
	}
	out := *value
	return &out
}

func copyCounters(counters map[string]Counter) map[string]Counter {
	if counters == nil {
		return nil
	}
	out := make(map[string]Counter, len(counters))
	for name, counter := range counters {
		out[name] = counter
	}
	return out
}

func copyLists(lists map[string]List) map[string]List {
	if lists == nil {
		return nil
	}
	out := make(map[string]List, len(lists))
	for name, list := range lists {
		list.Values = append([]string(nil), list.Values...)
		out[name] = list
	}
	return out
}
