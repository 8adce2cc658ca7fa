{{/* What the pods of processes and of backups have in common. */}}
{{- define "brokergraph.pod" -}}
{{- $values := .Values -}}
automountServiceAccountToken: false
serviceAccountName: {{ include "brokergraph.serviceAccount" . }}
# Variables for each Service of the namespace could have names of settings.
enableServiceLinks: false
{{- with $values.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
securityContext:
  {{- with $values.podSecurityContext }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  runAsNonRoot: true
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile:
    type: RuntimeDefault
{{- with $values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "brokergraph.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{/* Containers of the values, with the security context of the processes unless they have one. */}}
{{- define "brokergraph.containers" -}}
{{- $containers := list -}}
{{- range . -}}
{{- $security := .securityContext | default (include "brokergraph.containerSecurity" $ | fromYaml) -}}
{{- $containers = append $containers (set (deepCopy .) "securityContext" $security) -}}
{{- end -}}
{{ toYaml $containers }}
{{- end -}}

{{/* The container of the image, without its name and its command. */}}
{{- define "brokergraph.container" -}}
image: {{ include "brokergraph.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  {{- include "brokergraph.containerSecurity" . | nindent 2 }}
envFrom:
  - configMapRef:
      name: {{ include "brokergraph.name" . }}
  {{- with .Values.existingSecret }}
  - secretRef:
      name: {{ . }}
  {{- end }}
{{- end -}}
