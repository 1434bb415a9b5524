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
{{- $own := dict -}}
{{- if eq $owner "migration" }}{{ $own = include "grantline.beforeMigration" $root | fromYaml }}{{ end -}}
{{- with $source.externalSecret }}
apiVersion: external-secrets.io/v1
kind: ExternalSecret
metadata: {{- include "grantline.metadata" (dict "of" $root "name" $name "own" $own) | nindent 2 }}
# With what the API server would fill in: tools that compare lists as a whole see no difference.
spec:
  refreshInterval: {{ .refreshInterval | default "1h" | quote }}
  secretStoreRef: {{- toYaml (merge dict .secretStoreRef (dict "kind" "SecretStore")) | nindent 4 }}
  target:
    name: {{ $name | quote }}
    creationPolicy: Owner
    deletionPolicy: Retain
  data:
    {{- range $key, $ref := .remoteRefs }}
    - secretKey: {{ $key | quote }}
      remoteRef: {{- toYaml (merge dict $ref (dict "conversionStrategy" "Default" "decodingStrategy" "None" "metadataPolicy" "None")) | nindent 8 }}
    {{- end }}
{{- end }}
{{- with $source.sealedSecret }}
apiVersion: bitnami.com/v1alpha1
kind: SealedSecret
metadata: {{- include "grantline.metadata" (dict "of" $root "name" $name "annotations" .annotations "own" $own) | nindent 2 }}
spec:
  encryptedData: {{- toYaml .encryptedData | nindent 4 }}
  template:
    metadata:
      name: {{ $name | quote }}
      namespace: {{ include "grantline.namespace" $root | quote }}
{{- end }}
{{- end -}}

{{/* What the migration needs exists before it, also on the first install, and goes when it has succeeded. */}}
{{- define "grantline.beforeMigration" -}}
helm.sh/hook: pre-install,pre-upgrade
helm.sh/hook-weight: "-10"
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end -}}
