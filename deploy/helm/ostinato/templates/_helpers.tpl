{{- define "ostinato.labels" -}}
app.kubernetes.io/name: ostinato
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "ostinato.selector" -}}
app.kubernetes.io/name: ostinato
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "ostinato.image" -}}
image: "{{ .Values.image.repository }}:{{ .Values.image.tag }}"
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
{{- end }}

{{- define "ostinato.pod" -}}
automountServiceAccountToken: false
# One process more as the first, so that the warden can end a worker whose handler blocks it.
shareProcessNamespace: true
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "ostinato.volumes" -}}
volumes:
  - name: data
    emptyDir: {}
  - name: tmp
    emptyDir: {}
{{- end }}

{{- define "ostinato.mounts" -}}
volumeMounts:
  - { name: data, mountPath: /var/lib/ostinato }
  - { name: tmp, mountPath: /tmp }
{{- end }}

{{- define "ostinato.settings" -}}
{{- range $name, $value := .Values.settings }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}
