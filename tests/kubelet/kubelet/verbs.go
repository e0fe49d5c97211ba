// SPDX-License-Identifier: Apache-2.0

// This file owns the verbs of the control socket.

package kubelet

import (
	"context"
	"fmt"
	"sort"
	"strconv"
	"time"
)

type verb struct {
	args []string
	do   func(k *Kubelet, args map[string]string) (interface{}, error)
}

var verbs = map[string]verb{
	"status":            {nil, doStatus},
	"devices":           {[]string{"resource"}, doDevices},
	"frames":            {[]string{"resource"}, doFrames},
	"run-pod":           {[]string{"name", "namespace", "limits", "env", "spec"}, doRunPod},
	"pod":               {[]string{"name", "namespace"}, doPod},
	"pods":              {nil, doPods},
	"delete-pod":        {[]string{"name", "namespace"}, doDeletePod},
	"restart-container": {[]string{"name", "namespace", "container"}, doRestartContainer},
	"restart":           {[]string{"mode", "delay", "reboot", "readmit"}, doRestart},
	"stop":              {[]string{"mode"}, doStop},
	"start":             {nil, doStart},
	"readmit":           {nil, doReadmit},
	"wait":              {nil, doWait},
	"fault":             {[]string{"set", "value", "count", "clear"}, doFault},
	"checkpoint":        {nil, doCheckpoint},
	"quit":              {nil, doNothing},
}

func verbNames() []string {
	return []string{"status", "devices", "frames", "run-pod", "pod", "pods", "delete-pod",
		"restart-container", "restart", "stop", "start", "readmit", "wait", "fault", "checkpoint",
		"quit"}
}

func namespaceOf(args map[string]string) string {
	if args["namespace"] == "" {
		return "default"
	}
	return args["namespace"]
}

func doStatus(k *Kubelet, _ map[string]string) (interface{}, error) { return k.Status(), nil }

func doDevices(k *Kubelet, args map[string]string) (interface{}, error) {
	return k.Devices(args["resource"]), nil
}

func doFrames(k *Kubelet, args map[string]string) (interface{}, error) {
	return k.Frames(args["resource"]), nil
}

// doRunPod takes a whole spec, or the short form: one container named main.
func doRunPod(k *Kubelet, args map[string]string) (interface{}, error) {
	var spec PodSpec
	if args["spec"] != "" {
		var err error
		if spec, err = ParsePodSpec(args["spec"]); err != nil {
			return nil, err
		}
	} else {
		c := ContainerSpec{Name: "main", Env: map[string]string{}}
		if args["limits"] != "" {
			var err error
			if c.Limits, err = ParseAmounts(args["limits"]); err != nil {
				return nil, err
			}
		}
		if args["env"] != "" {
			if err := addEnv(c.Env, args["env"]); err != nil {
				return nil, err
			}
		}
		spec.Containers = []ContainerSpec{c}
	}
	if args["name"] != "" {
		spec.Name = args["name"]
	}
	if args["namespace"] != "" {
		spec.Namespace = args["namespace"]
	}
	st, err := k.RunPod(spec)
	if err != nil {
		return nil, err
	}
	return st, nil
}

func addEnv(env map[string]string, text string) error {
	for i := 0; i < len(text); i++ {
		if text[i] == ':' && i > 0 {
			env[text[:i]] = text[i+1:]
			return nil
		}
	}
	return fmt.Errorf("env=%q: must be NAME:VALUE", text)
}

func doPod(k *Kubelet, args map[string]string) (interface{}, error) {
	return k.Pod(namespaceOf(args), args["name"])
}

func doPods(k *Kubelet, _ map[string]string) (interface{}, error) { return k.Pods(), nil }

func doDeletePod(k *Kubelet, args map[string]string) (interface{}, error) {
	return nil, k.DeletePod(namespaceOf(args), args["name"])
}

func doRestartContainer(k *Kubelet, args map[string]string) (interface{}, error) {
	container := args["container"]
	if container == "" {
		container = "main"
	}
	return k.RestartContainer(namespaceOf(args), args["name"], container)
}

func stopMode(args map[string]string) (StopMode, error) {
	switch mode := StopMode(args["mode"]); mode {
	case "":
		return Graceful, nil
	case Graceful, Kill:
		return mode, nil
	}
	return "", fmt.Errorf("mode=%q: must be graceful or kill", args["mode"])
}

func doRestart(k *Kubelet, args map[string]string) (interface{}, error) {
	var err error
	o := RestartOptions{}
	if o.Mode, err = stopMode(args); err != nil {
		return nil, err
	}
	if args["delay"] != "" {
		if err := parseDelay(&o.Delay, args["delay"]); err != nil {
			return nil, err
		}
	}
	reboot, err := parseBool("reboot", args["reboot"], false)
	if err != nil {
		return nil, err
	}
	readmit, err := parseBool("readmit", args["readmit"], true)
	if err != nil {
		return nil, err
	}
	o.Reboot, o.NoReadmit = reboot, !readmit
	return nil, k.Restart(o)
}

func parseBool(name, text string, value bool) (bool, error) {
	if text == "" {
		return value, nil
	}
	b, err := strconv.ParseBool(text)
	if err != nil {
		return false, fmt.Errorf("%s=%q: must be true or false", name, text)
	}
	return b, nil
}

func doStop(k *Kubelet, args map[string]string) (interface{}, error) {
	mode, err := stopMode(args)
	if err == nil {
		k.Stop(mode)
	}
	return nil, err
}

func doStart(k *Kubelet, _ map[string]string) (interface{}, error) {
	if err := k.Start(); err != nil {
		return nil, err
	}
	k.Readmit()
	return nil, nil
}

func doReadmit(k *Kubelet, _ map[string]string) (interface{}, error) {
	k.Readmit()
	return k.Pods(), nil
}

// doWait waits for all conditions given, 10 s unless timeout says else.
func doWait(k *Kubelet, args map[string]string) (interface{}, error) {
	timeout := 10 * time.Second
	var conditions []string
	for key, value := range args {
		if key == "timeout" {
			if err := parseDelay(&timeout, value); err != nil {
				return nil, err
			}
			continue
		}
		conditions = append(conditions, key)
	}
	if len(conditions) == 0 {
		return nil, fmt.Errorf("nothing to wait for")
	}
	sort.Strings(conditions)
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	for _, key := range conditions {
		if err := k.WaitCondition(ctx, key, args[key]); err != nil {
			return nil, fmt.Errorf("%s=%s: %v", key, args[key], err)
		}
	}
	return nil, nil
}

func doFault(k *Kubelet, args map[string]string) (interface{}, error) {
	clear, err := parseBool("clear", args["clear"], false)
	if err != nil {
		return nil, err
	}
	if clear {
		k.ClearFaults()
	}
	if args["set"] == "" {
		if clear {
			return nil, nil
		}
		return nil, fmt.Errorf("fault: set=NAME or clear=true is needed")
	}
	count := 1
	if args["count"] != "" {
		if count, err = strconv.Atoi(args["count"]); err != nil || count < 1 {
			return nil, fmt.Errorf("count=%q: must be a number from 1 up", args["count"])
		}
	}
	return nil, k.SetFault(args["set"], args["value"], count)
}

func doCheckpoint(k *Kubelet, _ map[string]string) (interface{}, error) {
	return ReadCheckpoint(k.cfg.CheckpointPath())
}

func doNothing(*Kubelet, map[string]string) (interface{}, error) { return nil, nil }
