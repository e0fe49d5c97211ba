// SPDX-License-Identifier: Apache-2.0

// hami-kubelet is the kubelet stand-in as a program, and the client of its control socket.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io/ioutil"
	"log"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"hami/kubelet"
)

func main() {
	err := error(nil)
	if len(os.Args) > 1 && os.Args[1] == "ctl" {
		err = ctl(os.Args[2:])
	} else {
		err = serve(os.Args[1:])
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "hami-kubelet: %v\n", err)
		os.Exit(1)
	}
}

func serve(args []string) error {
	var cfg kubelet.Config
	fs := flag.NewFlagSet("hami-kubelet", flag.ExitOnError)
	fs.StringVar(&cfg.DevicePluginDir, "dir", "", "device plugin directory")
	fs.StringVar(&cfg.RootDir, "root", "", "kubelet root directory")
	style := fs.String("style", string(kubelet.Style136), "1.36 or 1.20")
	policy := fs.String("topology-policy", string(kubelet.PolicyNone),
		"none, best-effort, restricted or single-numa-node")
	fs.BoolVar(&cfg.WipeFiles, "wipe-files", false,
		"remove plain files at start too, as 1.32 and older do")
	fs.Int64Var(&cfg.Seed, "seed", 0, "seed of all random orders; 0 takes the clock")
	fs.DurationVar(&cfg.DialTimeout, "dial-timeout", 0, "of a plugin's socket (10s)")
	fs.DurationVar(&cfg.StopGrace, "stop-grace", 0, "from a broken stream to capacity 0 (5m)")
	fs.DurationVar(&cfg.Reconcile, "reconcile", 0, "interval of plugins_registry (1s)")
	control := fs.String("control", "", "control socket")
	quiet := fs.Bool("quiet", false, "do not log to standard error")
	fs.Parse(args)
	if fs.NArg() > 0 {
		return fmt.Errorf("argument %q: flags only", fs.Arg(0))
	}
	cfg.Style, cfg.TopologyPolicy = kubelet.Style(*style), kubelet.Policy(*policy)
	if !*quiet {
		logger := log.New(os.Stderr, "hami-kubelet: ", log.Ltime|log.Lmicroseconds)
		cfg.Logf = logger.Printf
	}
	return run(cfg, *control)
}

func run(cfg kubelet.Config, control string) error {
	k, err := kubelet.New(cfg)
	if err != nil {
		return err
	}
	if err := k.Start(); err != nil {
		return err
	}
	defer k.Stop(kubelet.Graceful)
	quit := (<-chan struct{})(nil)
	if control != "" {
		c, err := kubelet.NewControl(k, control)
		if err != nil {
			return err
		}
		defer c.Close()
		quit = c.Quit()
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	fmt.Println("ready")
	select {
	case <-signals:
	case <-quit:
	}
	return nil
}

const ctlUsage = "ctl --control SOCKET VERB [KEY=VALUE...]"

func ctl(args []string) error {
	fs := flag.NewFlagSet(ctlUsage, flag.ExitOnError)
	control := fs.String("control", "", "control socket")
	patience := fs.Duration("connect-timeout", 5*time.Second, "for a stand-in that just starts")
	compact := fs.Bool("compact", false, "print the result on one line")
	fs.Parse(args)
	if *control == "" || fs.NArg() == 0 {
		return fmt.Errorf("usage: %s", ctlUsage)
	}
	req := kubelet.Request{Verb: fs.Arg(0), Args: map[string]string{}}
	for _, arg := range fs.Args()[1:] {
		at := strings.Index(arg, "=")
		if at < 1 {
			return fmt.Errorf("argument %q: must be KEY=VALUE", arg)
		}
		value := arg[at+1:]
		if strings.HasPrefix(value, "@") {
			text, err := ioutil.ReadFile(value[1:])
			if err != nil {
				return err
			}
			value = string(text)
		}
		req.Args[arg[:at]] = value
	}
	if err := waitForSocket(*control, *patience); err != nil {
		return err
	}
	rep, err := kubelet.Call(*control, req)
	if err != nil {
		return err
	}
	if !rep.OK {
		return fmt.Errorf("%s: %s", req.Verb, rep.Error)
	}
	return print(rep.Result, *compact)
}

func waitForSocket(path string, patience time.Duration) error {
	deadline := time.Now().Add(patience)
	for {
		_, err := os.Stat(path)
		if err == nil || time.Now().After(deadline) {
			return err
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func print(result json.RawMessage, compact bool) error {
	if len(result) == 0 {
		return nil
	}
	var out bytes.Buffer
	if compact {
		out.Write(result)
	} else if err := json.Indent(&out, result, "", "  "); err != nil {
		return err
	}
	out.WriteByte('\n')
	_, err := out.WriteTo(os.Stdout)
	return err
}
