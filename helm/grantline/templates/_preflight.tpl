{{/* Everything that is missing or does not fit together, at once. Each part below prints one problem a line. */}}
{{- define "grantline.preflight" -}}
{{- $problems := list -}}
{{- range $part := list "required" "secrets" "trustedCertificates" "routes" "pods" "extraObjects" "upgrade" -}}
{{- range include (printf "grantline.preflight.%s" $part) $ | splitList "\n" -}}
{{- with trim . }}{{ $problems = append $problems . }}{{ end -}}
{{- end -}}
{{- end -}}
{{- if $problems -}}
{{- fail (printf "\n\nThese values cannot be used:\n  %s\n" (join "\n  " $problems)) -}}
{{- end -}}
{{- end -}}

{{- define "grantline.preflight.required" -}}
{{- $values := .Values -}}
{{- if not $values.image.repository }}
image.repository is required: where the image was pushed
{{- end }}
{{- if not $values.settings.ACL_METADATA_CATALOG }}
settings.ACL_METADATA_CATALOG is required: the engine's catalog on Grantline's own database, or none
{{- end }}
{{- if $values.settings.SERVICE_QUERY_JWT_ENABLED }}
{{- range $name := list "SERVICE_QUERY_HOST" "SERVICE_QUERY_JWT_ISSUER_URL" "SERVICE_QUERY_JWT_CLIENT_ID" }}
{{- if not (index $values.settings $name) }}
settings.{{ $name }} is required while SERVICE_QUERY_JWT_ENABLED is true
{{- end }}
{{- end }}
{{- end }}
{{- if not (regexMatch "^[a-z]" (include "grantline.fullname" .)) }}
fullnameOverride is required: a Service's name begins with a letter, and the release's does not
{{- end }}
{{- if not (or $values.serviceAccount.create $values.serviceAccount.name) }}
serviceAccount.name is required while serviceAccount.create is false: what the account may do, every pod with it may
{{- end }}
{{- if and $values.retiredRoute.enabled (not $values.retiredRoute.url) }}
retiredRoute.url is required: the engine's former address
{{- end }}
{{- end -}}

{{- define "grantline.preflight.secrets" -}}
{{- $values := .Values -}}
{{- range $owner := ternary (list "service" "migration") (list "service") $values.migration.enabled }}
{{- $sources := include "grantline.countOf" (list (index $values.secrets $owner) "existingSecret" "externalSecret" "sealedSecret") }}
{{- if ne $sources "1" }}
secrets.{{ $owner }} needs exactly one of existingSecret, externalSecret and sealedSecret; it has {{ $sources }}
{{- end }}
{{- end }}
{{- with $values.secrets.service.keys }}
{{- if ne (empty .opaToken) (empty .opaSigningKey) }}
secrets.service.keys needs both of opaToken and opaSigningKey, or none
{{- end }}
{{- if and (eq $values.accessControl.engine "opa") (empty .opaToken) }}
accessControl.engine: opa needs secrets.service.keys.opaToken and opaSigningKey
{{- end }}
{{- end }}
{{- if not (or $values.accessControl.rulesFile (eq $values.accessControl.engine "opa")) }}
accessControl.rulesFile is false: accessControl.engine must be opa
{{- end }}
{{- if and $values.settings.ACL_CONFIGMAP_TARGETS_FILE $values.accessControl.furtherConfigMaps }}
settings.ACL_CONFIGMAP_TARGETS_FILE lists all ConfigMaps: accessControl.furtherConfigMaps must be empty
{{- end }}
{{- end -}}

{{/* Call with (list values name …): how many of these are set. */}}
{{- define "grantline.countOf" -}}
{{- $values := first . -}}
{{- $count := 0 -}}
{{- range rest . }}{{ if index $values . }}{{ $count = add1 $count }}{{ end }}{{ end -}}
{{- $count -}}
{{- end -}}

{{- define "grantline.preflight.trustedCertificates" -}}
{{- $sources := include "grantline.countOf" (list .Values.trustedCertificates "pem" "existingConfigMap" "existingSecret") -}}
{{- if gt (int $sources) 1 }}
trustedCertificates needs at most one of pem, existingConfigMap and existingSecret; it has {{ $sources }}
{{- end }}
{{- range .Values.extraEnv }}
{{- if and (eq .name "NODE_EXTRA_CA_CERTS") (ne $sources "0") }}
extraEnv must not hold NODE_EXTRA_CA_CERTS beside trustedCertificates: Node.js reads one file
{{- end }}
{{- end }}
{{- end -}}

{{- define "grantline.preflight.routes" -}}
{{- $values := .Values -}}
{{- if and $values.ingress.enabled (not $values.ingress.hosts) }}
ingress.hosts is required
{{- end }}
{{- if and $values.httpRoute.enabled (or (not $values.httpRoute.parentRefs) (not $values.httpRoute.hostnames)) }}
httpRoute.parentRefs and httpRoute.hostnames are required
{{- end }}
{{- with include "grantline.engineNames" . }}
{{- range $owner := list "ingress" "httpRoute" "service" }}
{{- range $name, $value := (index $values $owner).annotations }}
{{- if regexMatch (include "grantline.engineNames" $) (lower $value) }}
{{ $owner }}.annotations must not lead to the engine: {{ $name }} names it
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- if and $values.monitoring.serviceMonitor.enabled $values.monitoring.podMonitor.enabled }}
monitoring needs one of serviceMonitor and podMonitor: with both, everything is counted twice
{{- end }}
{{- if $values.networkPolicy.enabled }}
{{- if and (or $values.ingress.enabled $values.httpRoute.enabled) (not $values.networkPolicy.api.from) }}
networkPolicy.api.from is required: the pods of the ingress controller or gateway
{{- end }}
{{- if and (or $values.monitoring.serviceMonitor.enabled $values.monitoring.podMonitor.enabled) (not $values.networkPolicy.operations.from) }}
networkPolicy.operations.from is required: the pods of Prometheus
{{- end }}
{{- end }}
{{- end -}}

{{/* A pattern for the engine's host, with and without `.svc…`, and for Traefik's middlewares in the engine's namespace. Empty without a host. */}}
{{- define "grantline.engineNames" -}}
{{- with .Values.settings.SERVICE_QUERY_HOST | default "" | lower -}}
{{- $name := regexReplaceAll "\\.svc(\\.[-.a-z0-9]*)?$" . "" -}}
{{- $namespace := include "grantline.rulesNamespace" $ -}}
{{- $names := ternary (printf "%s|%s\\.%s" $name $name (include "grantline.namespace" $)) (regexQuoteMeta $name) (not (contains "." $name)) -}}
{{- printf "(^|[^-.a-z0-9])(%s)(\\.svc|[^-.a-z0-9]|$)" $names -}}
{{- if ne $namespace (include "grantline.namespace" $) }}{{ printf "|(^|[\\s,])%s-[^,]*@kubernetescrd" $namespace }}{{ end -}}
{{- end -}}
{{- end -}}

{{- define "grantline.preflight.pods" -}}
{{- $values := .Values -}}
{{- with $values.autoscaling -}}
{{- if .enabled }}
{{- if gt (int .minReplicas) (int .maxReplicas) }}
autoscaling.maxReplicas must not be below autoscaling.minReplicas
{{- end }}
{{- if not (or .targetCPUUtilizationPercentage .targetMemoryUtilizationPercentage) }}
autoscaling needs targetCPUUtilizationPercentage or targetMemoryUtilizationPercentage
{{- end }}
{{- end }}
{{- end }}
{{- $sleep := dig "preStop" "sleep" "seconds" 0 ($values.lifecycle | default dict) | int }}
{{- if lt (int $values.terminationGracePeriodSeconds) (add $sleep 20 | int) }}
terminationGracePeriodSeconds must be at least {{ add $sleep 20 }}: the preStop sleep, and 20 s in which the service ends
{{- end }}
{{- end -}}

{{- define "grantline.preflight.extraObjects" -}}
{{- $needed := include "grantline.neededByMigration" . | fromJsonArray -}}
{{- range $object := .Values.extraObjects }}
{{- if and (eq .kind "ConfigMap") (eq (dig "metadata" "name" "" .) $.Values.accessControl.configMap.name) }}
extraObjects must not hold the access-control ConfigMap: it would be rendered twice, and with data
{{- end }}
{{- if not (has (dig "metadata" "namespace" "" .) (list "" (include "grantline.namespace" $))) }}
extraObjects must be in the release's own namespace
{{- end }}
{{- $made := printf "ConfigMap/%s" .metadata.name }}
{{- if eq .kind "ExternalSecret" }}{{ $made = printf "Secret/%s" (dig "spec" "target" "name" .metadata.name .) }}{{ end }}
{{- if eq .kind "SealedSecret" }}{{ $made = printf "Secret/%s" (dig "spec" "template" "metadata" "name" .metadata.name .) }}{{ end }}
{{- if eq .kind "Certificate" }}{{ $made = printf "Secret/%s" (dig "spec" "secretName" "" .) }}{{ end }}
{{- if and (has .kind (list "ConfigMap" "ExternalSecret" "SealedSecret" "Certificate")) (has $made $needed) (not (contains "pre-install" (dig "metadata" "annotations" "helm.sh/hook" "" .))) }}
extraObjects: the migration needs {{ $made }}, and runs before it is made. Make it beforehand, or annotate its {{ .kind }} with helm.sh/hook: pre-install,pre-upgrade and helm.sh/hook-weight: "-10". Certificate authorities have a value of their own, trustedCertificates
{{- end }}
{{- end }}
{{- end -}}

{{/* As JSON, `ConfigMap/name` and `Secret/name`: what its pod waits for and the chart does not make. */}}
{{- define "grantline.neededByMigration" -}}
{{- $needed := list -}}
{{- with .Values -}}
{{- if .migration.enabled -}}
{{- $needed = list (printf "Secret/%s" .secrets.migration.existingSecret) (printf "Secret/%s" .trustedCertificates.existingSecret) (printf "ConfigMap/%s" .trustedCertificates.existingConfigMap) -}}
{{- range .imagePullSecrets }}{{ $needed = append $needed (printf "Secret/%s" .name) }}{{ end -}}
{{- $sources := list -}}
{{- range .extraEnv }}{{ $sources = append $sources (.valueFrom | default dict) }}{{ end -}}
{{- range .extraVolumes }}{{ $sources = concat (append $sources .) (dig "projected" "sources" list .) }}{{ end -}}
{{- range $source := $sources -}}
{{- range $field, $kind := dict "configMap" "ConfigMap" "configMapKeyRef" "ConfigMap" "secret" "Secret" "secretKeyRef" "Secret" -}}
{{- with index $source $field }}{{ if not .optional }}{{ $needed = append $needed (printf "%s/%s" $kind (.secretName | default .name)) }}{{ end }}{{ end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toJson $needed -}}
{{- end -}}

{{/* A revision without the kept ConfigMap, and a rollback past it, empties the rules. By the release, since the Deployment's name may change.
Without a cluster, as in Argo CD, nothing is found here; the ConfigMap that cannot be changed refuses there (access-control-configmap.yaml). */}}
{{- define "grantline.preflight.upgrade" -}}
{{- if .Release.IsUpgrade -}}
{{- $rules := include "grantline.rulesTarget" . -}}
{{- range (lookup "apps/v1" "Deployment" (include "grantline.namespace" .) "").items -}}
{{- $annotations := .metadata.annotations | default dict -}}
{{- $former := get $annotations "grantline.io/access-control" | default $rules -}}
{{- if and (eq (get $annotations "meta.helm.sh/release-name") $.Release.Name) (ne $former $rules) }}
accessControl.configMap cannot become {{ $rules }} by an upgrade: this release publishes to {{ $former }}. Uninstall it, which keeps that ConfigMap, and install it again
{{- end }}
{{- end }}
{{- end }}
{{- end -}}
