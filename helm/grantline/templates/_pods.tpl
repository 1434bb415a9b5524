{{- define "grantline.podSecurityContext" -}}
runAsNonRoot: true
{{- range $name, $id := .Values.podSecurityContext }}
{{- if not (kindIs "invalid" $id) }}
{{ $name }}: {{ int64 $id }}
{{- end }}
{{- end }}
seccompProfile: { type: RuntimeDefault }
{{- end -}}

{{- define "grantline.containerSecurityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
privileged: false
capabilities: { drop: [ALL] }
{{- end -}}

{{/* What all pods of the chart have in common. */}}
{{- define "grantline.podBasics" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext: {{- include "grantline.podSecurityContext" . | nindent 2 }}
{{- range $name := list "imagePullSecrets" "nodeSelector" "tolerations" "priorityClassName" "runtimeClassName" "schedulerName" "dnsPolicy" "dnsConfig" "hostAliases" }}
{{- with index $.Values $name }}
{{- toYaml (dict $name .) | nindent 0 }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "grantline.containerBasics" -}}
image: {{ include "grantline.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy | quote }}
securityContext: {{- include "grantline.containerSecurityContext" . | nindent 2 }}
{{- end -}}

{{/* Call with (list "live" figures). */}}
{{- define "grantline.probe" -}}
{{- toYaml (merge (dict "httpGet" (dict "path" (printf "/health/%s" (index . 0)) "port" "operations")) (index . 1)) -}}
{{- end -}}

{{/* Call with (list . pattern): the settings whose names match, as environment. Helm reads whole numbers as floats. */}}
{{- define "grantline.settings" -}}
{{- $pattern := index . 1 -}}
{{- range $name, $value := (index . 0).Values.settings }}
{{- if and (regexMatch $pattern $name) (not (kindIs "invalid" $value)) (ne (toString $value) "") }}
- name: {{ $name | quote }}
  value: {{ ternary (int64 $value) $value (kindIs "float64" $value) | toString | quote }}
{{- end }}
{{- end }}
{{- end -}}

{{/* The database and the target: what every run of the sync needs, in the service or in a Job. */}}
{{- define "grantline.syncEnvironment" -}}
- name: NODE_ENV
  value: production
- name: DATABASE_URL_FILE
  value: /run/secrets/grantline/database-url
- name: ACL_TARGET
  {{- $byOpa := eq .Values.accessControl.engine "opa" }}
  value: {{ if $byOpa }}opa{{ if .Values.accessControl.rulesFile }},configmap{{ end }}{{ else }}configmap{{ if .Values.secrets.service.keys.opaToken }},opa{{ end }}{{ end }}
{{- if or (not .Values.accessControl.rulesFile) .Values.settings.ACL_CONFIGMAP_TARGETS_FILE }}
{{- else if .Values.accessControl.furtherConfigMaps }}
- name: ACL_CONFIGMAP_NAME
  value: {{ include "grantline.rulesTarget" $ }}{{ range .Values.accessControl.furtherConfigMaps }},{{ .namespace }}/{{ .name }}{{ end }}
{{- else }}
- name: ACL_CONFIGMAP_NAMESPACE
  value: {{ include "grantline.rulesNamespace" . | quote }}
- name: ACL_CONFIGMAP_NAME
  value: {{ .Values.accessControl.configMap.name | quote }}
{{- end }}
{{- end -}}

{{/* Call with (list . (dict "path-in-the-pod" "key of the Secret") "service"). */}}
{{- define "grantline.secretsVolume" -}}
- name: secrets
  secret:
    secretName: {{ include "grantline.secretName" (list (index . 0) (index . 2)) | quote }}
    defaultMode: 288 # 0440
    items:
      {{- range $path, $key := index . 1 }}
      - key: {{ $key | quote }}
        path: {{ $path | quote }}
      {{- end }}
{{- end -}}

{{/* Only pods that publish have a token, mounted where they look for it by default; the kubelet renews it. */}}
{{- define "grantline.tokenVolume" -}}
- name: kubernetes-api
  projected:
    defaultMode: 288 # 0440
    sources:
      - serviceAccountToken:
          path: token
          expirationSeconds: 3600
      - configMap:
          name: kube-root-ca.crt
          items:
            - key: ca.crt
              path: ca.crt
{{- end -}}

{{/* Environment, mounts and volumes of all pods but those of `helm test`, which open no TLS connection and write no file. */}}
{{- define "grantline.extraEnvironment" -}}
{{- if include "grantline.trustedCertificates" (list . "") }}
- name: NODE_EXTRA_CA_CERTS
  value: /etc/grantline/trusted-certificates/ca.crt
{{- end }}
{{- with .Values.extraEnv }}
{{- toYaml . | nindent 0 }}
{{- end }}
{{- end -}}

{{- define "grantline.extraMounts" -}}
- name: tmp
  mountPath: /tmp
{{- if include "grantline.trustedCertificates" (list . "") }}
- name: trusted-certificates
  mountPath: /etc/grantline/trusted-certificates
  readOnly: true
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{- toYaml . | nindent 0 }}
{{- end }}
{{- end -}}

{{/* Call with (list . ""), in the migration with (list . "migration"). */}}
{{- define "grantline.extraVolumes" -}}
- name: tmp
  emptyDir:
    sizeLimit: 64Mi
{{- with include "grantline.trustedCertificates" . }}
- name: trusted-certificates
  {{- . | nindent 2 }}
{{- end }}
{{- with (index . 0).Values.extraVolumes }}
{{- toYaml . | nindent 0 }}
{{- end }}
{{- end -}}

{{- define "grantline.trustedCertificatesName" -}}
{{- list (include "grantline.fullname" (index . 0)) (index . 1) "trusted-certificates" | compact | join "-" -}}
{{- end -}}

{{/* As above: where a volume has the certificates from; empty without any. The migration's own ConfigMap is there before it. */}}
{{- define "grantline.trustedCertificates" -}}
{{- $root := index . 0 -}}
{{- with $root.Values.trustedCertificates -}}
{{- $items := list (dict "key" .key "path" "ca.crt") -}}
{{- if .existingSecret -}}
{{- toYaml (dict "secret" (dict "secretName" .existingSecret "items" $items)) -}}
{{- else if .existingConfigMap -}}
{{- toYaml (dict "configMap" (dict "name" .existingConfigMap "items" $items)) -}}
{{- else if .pem -}}
{{- toYaml (dict "configMap" (dict "name" (include "grantline.trustedCertificatesName" $) "items" $items)) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "grantline.secretsMount" -}}
- name: secrets
  mountPath: /run/secrets/grantline
  readOnly: true
{{- end -}}

{{- define "grantline.tokenMount" -}}
- name: kubernetes-api
  mountPath: /var/run/secrets/kubernetes.io/serviceaccount
  readOnly: true
{{- end -}}

{{- define "grantline.testResources" -}}
requests: { cpu: 50m, memory: 64Mi, ephemeral-storage: 16Mi }
limits: { memory: 128Mi, ephemeral-storage: 64Mi }
{{- end -}}
