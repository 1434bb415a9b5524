{{/* 38 characters: a CronJob's name ends at 52, and the longest suffix is `-retired-route`. */}}
{{- define "grantline.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 38 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" (.Release.Name | trunc 28 | trimSuffix "-") .Chart.Name -}}
{{- end -}}
{{- end -}}

{{- define "grantline.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (include "grantline.fullname" .) -}}
{{- else -}}
{{- .Values.serviceAccount.name | default "default" -}}
{{- end -}}
{{- end -}}

{{- define "grantline.rulesNamespace" -}}
{{- .Values.accessControl.configMap.namespace | default .Release.Namespace -}}
{{- end -}}

{{/* What selects all pods of the release; with `component` those of one kind. */}}
{{- define "grantline.selectorLabels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "grantline.labels" -}}
{{- with .Values.commonLabels }}
{{- toYaml . }}
{{ end -}}
{{ include "grantline.selectorLabels" . }}
app.kubernetes.io/version: {{ .Values.image.tag | default .Chart.AppVersion | trunc 63 | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: {{ .Chart.Name }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* Call with (list . "component"). Pods carry no version: a label that changes with the chart would restart all of them. */}}
{{- define "grantline.podLabels" -}}
{{- $root := index . 0 -}}
{{- with $root.Values.podLabels }}
{{- toYaml . }}
{{ end -}}
{{- with $root.Values.commonLabels }}
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
