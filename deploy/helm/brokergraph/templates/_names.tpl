{{/* At most 40 characters, because suffixes follow and names of pods are labels. */}}
{{- define "brokergraph.name" -}}
{{- if .Values.fullnameOverride -}}
{{ .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else if contains .Chart.Name .Release.Name -}}
{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" }}
{{- end -}}
{{- end -}}

{{- define "brokergraph.selector" -}}
app.kubernetes.io/name: {{ .Values.nameOverride | default .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "brokergraph.labels" -}}
{{ include "brokergraph.selector" . }}
{{ include "brokergraph.otherLabels" . }}
{{- end -}}

{{- define "brokergraph.otherLabels" -}}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{/* The label of the pods that the Service selects: workers respond to nothing but checks of their health. */}}
{{- define "brokergraph.servesRequests" -}}
{{ .Chart.Name }}/serves-requests
{{- end -}}

{{- define "brokergraph.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{ .Values.serviceAccount.name | default (include "brokergraph.name" .) }}
{{- else -}}
{{ .Values.serviceAccount.name | default "default" }}
{{- end -}}
{{- end -}}

{{- define "brokergraph.image" -}}
{{- with .Values.image -}}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ end -}}
{{- end -}}
{{- end -}}

{{- define "brokergraph.publicUrl" -}}
{{- if .Values.publicUrl -}}
{{ .Values.publicUrl }}
{{- else if .Values.ingress.enabled -}}
{{ ternary "https" "http" (ne .Values.ingress.tlsSecret "") }}://{{ first .Values.ingress.hosts }}
{{- end -}}
{{- end -}}

{{/* Names of the Service inside the Kubernetes cluster, hosts of the Ingress, and those of the values. */}}
{{- define "brokergraph.allowedHosts" -}}
{{- $name := include "brokergraph.name" . -}}
{{- $inside := list $name (printf "%s.%s" $name .Release.Namespace) (printf "%s.%s.svc" $name .Release.Namespace) -}}
{{- $ingress := ternary .Values.ingress.hosts list .Values.ingress.enabled -}}
{{ concat $inside $ingress .Values.allowedHosts | join "," }}
{{- end -}}
