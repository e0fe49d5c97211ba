// SPDX-License-Identifier: Apache-2.0

// This file owns the rule of what an extended resource may be called.

package kubelet

import (
	"fmt"
	"regexp"
	"strings"
)

var (
	labelName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)
	dnsName   = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$`)
)

// isExtendedResource says whether a device plugin may serve a resource of this name.
func isExtendedResource(name string) bool {
	if !strings.Contains(name, "/") || strings.Contains(name, "kubernetes.io/") ||
		strings.HasPrefix(name, "requests.") {
		return false
	}
	parts := strings.Split("requests."+name, "/")
	if len(parts) != 2 || len(parts[0]) > 253 || len(parts[1]) > 63 {
		return false
	}
	return dnsName.MatchString(parts[0]) && labelName.MatchString(parts[1])
}

func checkRegistration(version, resource string) error {
	if version != apiVersion {
		return fmt.Errorf("requested API version %q is not supported by kubelet. "+
			"Supported version is [%q]", version, apiVersion)
	}
	if !isExtendedResource(resource) {
		return fmt.Errorf("the ResourceName %q is invalid", resource)
	}
	return nil
}
