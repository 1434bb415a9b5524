{{/* What the chart and its pods are called. */}}
{{- define "grantline.name" -}}
{{- .Values.nameOverride | default .Chart.Name -}}
{{- end -}}

{{/* 38 characters: a CronJob's name ends at 52, and the longest suffix is `-retired-route`. A Service's name has no dots. */}}
{{- define "grantline.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else -}}
{{- $release := .Release.Name | replace "." "-" -}}
{{- $name := include "grantline.name" . -}}
{{- if contains $name $release -}}
{{- $release | trunc 38 | trimAll "-" -}}
{{- else -}}
{{- printf "%s-%s" ($release | trunc (int (sub 37 (len $name))) | trimAll "-") $name -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "grantline.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (include "grantline.fullname" .) -}}
{{- else -}}
{{- .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* Of everything but the access-control ConfigMap and the rights on it. */}}
{{- define "grantline.namespace" -}}
{{- .Values.namespaceOverride | default .Release.Namespace -}}
{{- end -}}

{{- define "grantline.rulesNamespace" -}}
{{- .Values.accessControl.configMap.namespace | default (include "grantline.namespace" .) -}}
{{- end -}}

{{/* `engine/trino-access-control` */}}
{{- define "grantline.rulesTarget" -}}
{{- printf "%s/%s" (include "grantline.rulesNamespace" .) .Values.accessControl.configMap.name -}}
{{- end -}}

{{/* As JSON: the namespaces of all engines in this cluster, each once. */}}
{{- define "grantline.rulesNamespaces" -}}
{{- $namespaces := list (include "grantline.rulesNamespace" .) -}}
{{- range .Values.accessControl.furtherConfigMaps }}{{ $namespaces = append $namespaces .namespace }}{{ end -}}
{{- uniq $namespaces | toJson -}}
{{- end -}}

{{/* What selects all pods of the release; with `component` those of one kind. */}}
{{- define "grantline.selectorLabels" -}}
app.kubernetes.io/name: {{ include "grantline.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{/*
Call with (dict "of" . …). A name is `name` and `suffix`; `namespace` may be another one; `clusterScoped` means none. `labels` and
`annotations` are values: they win over the common ones. `component` and `own`, annotations of the chart's, win over all.
*/}}
{{- define "grantline.metadata" -}}
{{- $root := .of -}}
{{- $labels := merge (include "grantline.ownLabels" . | fromYaml) (.labels | default dict) ($root.Values.commonLabels | default dict) -}}
{{- $metadata := dict "name" (printf "%s%s" (.name | default (include "grantline.fullname" $root)) (.suffix | default "")) "labels" $labels -}}
{{- if not .clusterScoped }}{{ $_ := set $metadata "namespace" (.namespace | default (include "grantline.namespace" $root)) }}{{ end -}}
{{- with merge (dict) (.own | default dict) (.annotations | default dict) ($root.Values.commonAnnotations | default dict) }}{{ $_ := set $metadata "annotations" . }}{{ end -}}
{{- toYaml $metadata -}}
{{- end -}}

{{- define "grantline.ownLabels" -}}
{{- with .of -}}
{{ include "grantline.selectorLabels" . }}
app.kubernetes.io/version: {{ .Values.image.tag | default .Chart.AppVersion | trunc 63 | trimAll "._-" | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service | quote }}
app.kubernetes.io/part-of: {{ .Chart.Name | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | quote }}
{{- end }}
{{- with .component }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end -}}

{{/* As above, of a pod. It carries no version: a label that changes with the chart would restart all of them. */}}
{{- define "grantline.podMetadata" -}}
{{- $root := .of -}}
{{- $labels := dict "app.kubernetes.io/component" .component -}}
{{- $labels = merge $labels (include "grantline.selectorLabels" $root | fromYaml) (.labels | default dict) ($root.Values.podLabels | default dict) ($root.Values.commonLabels | default dict) -}}
{{- $metadata := dict "labels" $labels -}}
{{- with merge (dict) (.own | default dict) (.annotations | default dict) }}{{ $_ := set $metadata "annotations" . }}{{ end -}}
{{- toYaml $metadata -}}
{{- end -}}

{{- define "grantline.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{- printf "%s@%s" .repository .digest -}}
{{- else -}}
{{- printf "%s:%s" .repository (.tag | default $.Chart.AppVersion) -}}
{{- end -}}
{{- end -}}
{{- end -}}
