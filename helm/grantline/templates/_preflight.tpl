{{/* Everything that is missing or does not fit together, at once. */}}
{{- define "grantline.preflight" -}}
{{- $values := .Values -}}
{{- $problems := list -}}
{{- if not $values.image.repository -}}
{{- $problems = append $problems "image.repository is required: where the image was pushed" -}}
{{- end -}}
{{- if not $values.settings.ACL_METADATA_CATALOG -}}
{{- $problems = append $problems "settings.ACL_METADATA_CATALOG is required: the engine's catalog on Grantline's own database, or none" -}}
{{- end -}}
{{- if $values.settings.SERVICE_QUERY_JWT_ENABLED -}}
{{- range $name := list "SERVICE_QUERY_HOST" "SERVICE_QUERY_JWT_ISSUER_URL" "SERVICE_QUERY_JWT_CLIENT_ID" -}}
{{- if not (index $values.settings $name) -}}
{{- $problems = append $problems (printf "settings.%s is required while SERVICE_QUERY_JWT_ENABLED is true" $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if not (regexMatch "^[a-z]" (include "grantline.fullname" .)) -}}
{{- $problems = append $problems "fullnameOverride is required: a Service's name begins with a letter, and the release's does not" -}}
{{- end -}}
{{- if not (or $values.serviceAccount.create $values.serviceAccount.name) -}}
{{- $problems = append $problems "serviceAccount.name is required while serviceAccount.create is false: what the account may do, every pod with it may" -}}
{{- end -}}
{{- range $owner := ternary (list "service" "migration") (list "service") $values.migration.enabled -}}
{{- $source := index $values.secrets $owner -}}
{{- $sources := 0 -}}
{{- range $kind := list "existingSecret" "externalSecret" "sealedSecret" -}}
{{- if index $source $kind -}}{{- $sources = add1 $sources -}}{{- end -}}
{{- end -}}
{{- if ne (int $sources) 1 -}}
{{- $problems = append $problems (printf "secrets.%s needs exactly one of existingSecret, externalSecret and sealedSecret; it has %d" $owner (int $sources)) -}}
{{- end -}}
{{- end -}}
{{- if and $values.retiredRoute.enabled (not $values.retiredRoute.url) -}}
{{- $problems = append $problems "retiredRoute.url is required: the engine's former address" -}}
{{- end -}}
{{- if and $values.ingress.enabled (not $values.ingress.hosts) -}}
{{- $problems = append $problems "ingress.hosts is required" -}}
{{- end -}}
{{- if and $values.httpRoute.enabled (or (not $values.httpRoute.parentRefs) (not $values.httpRoute.hostnames)) -}}
{{- $problems = append $problems "httpRoute.parentRefs and httpRoute.hostnames are required" -}}
{{- end -}}
{{- if $values.networkPolicy.enabled -}}
{{- if and (or $values.ingress.enabled $values.httpRoute.enabled) (not $values.networkPolicy.api.from) -}}
{{- $problems = append $problems "networkPolicy.api.from is required: the pods of the ingress controller or gateway" -}}
{{- end -}}
{{- if and $values.monitoring.serviceMonitor.enabled (not $values.networkPolicy.operations.from) -}}
{{- $problems = append $problems "networkPolicy.operations.from is required: the pods of Prometheus" -}}
{{- end -}}
{{- end -}}
{{- range $values.extraObjects -}}
{{- if and (eq .kind "ConfigMap") (eq (dig "metadata" "name" "" .) $values.accessControl.configMap.name) -}}
{{- $problems = append $problems "extraObjects must not hold the access-control ConfigMap: it would be rendered twice, and with data" -}}
{{- end -}}
{{- if not (has (dig "metadata" "namespace" $.Release.Namespace .) (list "" $.Release.Namespace)) -}}
{{- $problems = append $problems "extraObjects must be in the release's own namespace" -}}
{{- end -}}
{{- end -}}
{{- /* A revision without the kept ConfigMap, and a rollback past it, empties the rules. */ -}}
{{- /* By the release, since the Deployment's name may change. Without a cluster, as in a dry run on the client, there is none. */ -}}
{{- if .Release.IsUpgrade -}}
{{- $rules := printf "%s/%s" (include "grantline.rulesNamespace" .) $values.accessControl.configMap.name -}}
{{- range (lookup "apps/v1" "Deployment" .Release.Namespace "").items -}}
{{- $annotations := .metadata.annotations | default dict -}}
{{- $former := get $annotations "grantline.io/access-control" | default $rules -}}
{{- if and (eq (get $annotations "meta.helm.sh/release-name") $.Release.Name) (ne $former $rules) -}}
{{- $problems = append $problems (printf "accessControl.configMap cannot become %s by an upgrade: this release publishes to %s. Uninstall it, which keeps that ConfigMap, and install it again" $rules $former) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if $problems -}}
{{- fail (printf "\n\nThese values cannot be used:\n  %s\n" (join "\n  " $problems)) -}}
{{- end -}}
{{- end -}}
