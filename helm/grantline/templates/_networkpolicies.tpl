{{/* Call with (list peers ports): one egress rule; no peers mean any address. */}}
{{- define "grantline.egressTo" -}}
- ports:
    {{- range index . 1 }}
    - port: {{ . }}
      protocol: TCP
    {{- end }}
  {{- with index . 0 }}
  to: {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}

{{- define "grantline.egressToDns" -}}
- ports:
    {{- range .Values.networkPolicy.dns.ports }}
    - port: {{ . }}
      protocol: UDP
    - port: {{ . }}
      protocol: TCP
    {{- end }}
  {{- with .Values.networkPolicy.dns.to }}
  to: {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}
