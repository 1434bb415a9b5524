// Command gitops-diff prints what Argo CD and Flux would show as different between rendered objects and a cluster, by their own code.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/argoproj/gitops-engine/pkg/diff"
	"github.com/argoproj/gitops-engine/pkg/sync/hook"
	"github.com/argoproj/gitops-engine/pkg/utils/kube"
	"github.com/argoproj/gitops-engine/pkg/utils/tracing"
	"github.com/fluxcd/pkg/ssa/jsondiff"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2/textlogger"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func main() {
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(kubeconfig, manifests string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config.QPS = -1
	cluster, err := client.New(config, client.Options{})
	if err != nil {
		return err
	}
	text, err := os.ReadFile(manifests)
	if err != nil {
		return err
	}
	objects, err := kube.SplitYAML(text)
	if err != nil {
		return err
	}
	kubectl := &kube.KubectlCmd{Log: textlogger.NewLogger(textlogger.NewConfig()), Tracer: tracing.NopTracer{}}
	_, parser, err := kubectl.LoadOpenAPISchema(config)
	if err != nil {
		return err
	}
	ctx := context.Background()
	argo := map[string][]diff.Option{
		"three-way":        nil,
		"structured-merge": {diff.WithStructuredMergeDiff(true)},
		"server-side":      {diff.WithServerSideDiff(true), diff.WithServerSideDryRunner(dryRunner{cluster})},
	}
	compared := 0
	for _, object := range objects {
		if hook.IsHook(object) {
			continue
		}
		compared++
		name := fmt.Sprintf("%s/%s", object.GetKind(), object.GetName())
		for _, mode := range []string{"three-way", "structured-merge", "server-side"} {
			if mode == "structured-merge" {
				if err := cluster.Patch(ctx, object.DeepCopy(), client.Apply, client.FieldOwner(manager), client.ForceOwnership); err != nil {
					return err
				}
			}
			live := &unstructured.Unstructured{}
			live.SetGroupVersionKind(object.GroupVersionKind())
			if err := cluster.Get(ctx, client.ObjectKeyFromObject(object), live); err != nil {
				return err
			}
			options := append([]diff.Option{diff.WithGVKParser(parser), diff.WithManager(manager)}, argo[mode]...)
			result, err := diff.Diff(object.DeepCopy(), live.DeepCopy(), options...)
			if err != nil {
				return err
			}
			if result.Modified {
				fmt.Printf("argo %s %s\n  predicted: %s\n  live:      %s\n", mode, name, result.PredictedLive, result.NormalizedLive)
			}
		}
		drift, err := jsondiff.Unstructured(ctx, cluster, object.DeepCopy(), jsondiff.FieldOwner("helm-controller"))
		if err != nil {
			return err
		}
		if drift.Type != jsondiff.DiffTypeNone {
			patch, _ := json.Marshal(drift.Patch)
			fmt.Printf("flux %s %s\n", name, patch)
		}
	}
	fmt.Printf("%d objects compared\n", compared)
	return nil
}

const manager = "argocd-controller"

type dryRunner struct{ cluster client.Client }

func (r dryRunner) Run(ctx context.Context, object *unstructured.Unstructured, manager string) (string, error) {
	predicted := object.DeepCopy()
	if err := r.cluster.Patch(ctx, predicted, client.Apply, client.DryRunAll, client.FieldOwner(manager), client.ForceOwnership); err != nil {
		return "", err
	}
	text, err := json.Marshal(predicted)
	return string(text), err
}
