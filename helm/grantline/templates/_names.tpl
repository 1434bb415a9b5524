{{/* 38 characters: a CronJob's name ends at 52, and the longest suffix is `-retired-route`. A Service's name has no dots. */}}
{{- define "grantline.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else -}}
{{- $release := .Release.Name | replace "." "-" -}}
{{- if contains .Chart.Name $release -}}
{{- $release | trunc 38 | trimAll "-" -}}
{{- else -}}
{{- printf "%s-%s" ($release | trunc 28 | trimAll "-") .Chart.Name -}}
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

{{- define "grantline.rulesNamespace" -}}
{{- .Values.accessControl.configMap.namespace | default .Release.Namespace -}}
{{- end -}}

{{/* What selects all pods of the release; with `component` those of one kind. */}}
{{- define "grantline.selectorLabels" -}}
app.kubernetes.io/name: {{ .Chart.Name | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{- define "grantline.labels" -}}
{{- include "grantline.labelsWith" (list . dict) -}}
{{- end -}}

{{/* Call with (list . further): further labels win over the common ones, and neither over the chart's own. */}}
{{- define "grantline.labelsWith" -}}
{{- $root := index . 0 -}}
{{- with merge dict (index . 1 | default dict) ($root.Values.commonLabels | default dict) }}
{{- toYaml . }}
{{ end -}}
{{- with $root -}}
{{ include "grantline.selectorLabels" . }}
app.kubernetes.io/version: {{ .Values.image.tag | default .Chart.AppVersion | trunc 63 | trimAll "._-" | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service | quote }}
app.kubernetes.io/part-of: {{ .Chart.Name | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | quote }}
{{- end -}}
{{- end -}}

{{/* Call with (list . "component"). Pods carry no version: a label that changes with the chart would restart all of them. */}}
{{- define "grantline.podLabels" -}}
{{- $root := index . 0 -}}
{{- with merge dict ($root.Values.podLabels | default dict) ($root.Values.commonLabels | default dict) }}
{{- toYaml . }}
{{ end -}}
{{ include "grantline.selectorLabels" $root }}
app.kubernetes.io/component: {{ index . 1 }}
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
