{{/* Call with (list . "service") or (list . "migration"): the name of the Secret that its pods mount. */}}
{{- define "grantline.secretName" -}}
{{- $root := index . 0 -}}
{{- $owner := index . 1 -}}
{{- $source := index $root.Values.secrets $owner -}}
{{- if $source.existingSecret -}}
{{- $source.existingSecret -}}
{{- else -}}
{{- printf "%s-%s" (include "grantline.fullname" $root) $owner -}}
{{- end -}}
{{- end -}}

{{/* Call with (list . "service"): the ExternalSecret or SealedSecret that makes the Secret, if one is asked for. */}}
{{- define "grantline.secretProducer" -}}
{{- $root := index . 0 -}}
{{- $owner := index . 1 -}}
{{- $source := index $root.Values.secrets $owner -}}
{{- $name := include "grantline.secretName" . -}}
{{- with $source.externalSecret }}
apiVersion: external-secrets.io/v1
kind: ExternalSecret
metadata:
  name: {{ $name | quote }}
  namespace: {{ $root.Release.Namespace | quote }}
  labels: {{- include "grantline.labels" $root | nindent 4 }}
  {{- if eq $owner "migration" }}
  annotations: {{- include "grantline.beforeMigration" $root | nindent 4 }}
  {{- end }}
spec:
  refreshInterval: {{ .refreshInterval | default "1h" | quote }}
  secretStoreRef: {{- toYaml .secretStoreRef | nindent 4 }}
  target:
    name: {{ $name | quote }}
    creationPolicy: Owner
  data:
    {{- range $key, $ref := .remoteRefs }}
    - secretKey: {{ $key | quote }}
      remoteRef: {{- toYaml $ref | nindent 8 }}
    {{- end }}
{{- end }}
{{- with $source.sealedSecret }}
apiVersion: bitnami.com/v1alpha1
kind: SealedSecret
metadata:
  name: {{ $name | quote }}
  namespace: {{ $root.Release.Namespace | quote }}
  labels: {{- include "grantline.labels" $root | nindent 4 }}
  {{- if or .annotations (eq $owner "migration") }}
  annotations:
    {{- with .annotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
    {{- if eq $owner "migration" }}
    {{- include "grantline.beforeMigration" $root | nindent 4 }}
    {{- end }}
  {{- end }}
spec:
  encryptedData: {{- toYaml .encryptedData | nindent 4 }}
  template:
    metadata:
      name: {{ $name | quote }}
      namespace: {{ $root.Release.Namespace | quote }}
{{- end }}
{{- end -}}

{{/* What the migration needs exists before it, also on the first install, and goes when it has succeeded. */}}
{{- define "grantline.beforeMigration" -}}
helm.sh/hook: pre-install,pre-upgrade
helm.sh/hook-weight: "-10"
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end -}}
