{{/*
A StatefulSet of processes. Its keys: `root` (the context of the chart), `component`, `suffix` of the name, `replicas`
(null if an autoscaler sets the number), `role`, `runsBrokers`, `own` (values of the component).

Each process has a volume, because it stores audit entries there until they are in the database. There is no preStop hook:
after SIGTERM the process serves requests for SHUTDOWN_DELAY_MS.
*/}}
{{- define "brokergraph.processes" -}}
{{- $name := include "brokergraph.name" .root -}}
{{- $values := .root.Values -}}
{{- $persistence := merge (dict) (.own.persistence | default dict) $values.persistence -}}
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: {{ $name }}{{ .suffix }}
  labels:
    {{- include "brokergraph.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
spec:
  {{- if not (kindIs "invalid" .replicas) }}
  replicas: {{ .replicas }}
  {{- end }}
  serviceName: {{ $name }}-processes
  # A process that does not start must not keep the others from starting. Updates replace one after the other.
  podManagementPolicy: Parallel
  selector:
    matchLabels:
      {{- include "brokergraph.selector" .root | nindent 6 }}
      app.kubernetes.io/component: {{ .component }}
  template:
    metadata:
      annotations:
        checksum/settings: {{ include (print .root.Template.BasePath "/settings.yaml") .root | sha256sum }}
        {{- with $values.podAnnotations }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      labels:
        {{- with $values.podLabels }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
        {{- include "brokergraph.labels" .root | nindent 8 }}
        app.kubernetes.io/component: {{ .component }}
        {{ include "brokergraph.servesRequests" .root }}: {{ ne .role "worker" | quote }}
    spec:
      {{- include "brokergraph.pod" .root | nindent 6 }}
      # The stop takes at most 20 s after the delay.
      terminationGracePeriodSeconds: {{ add $values.shutdownDelaySeconds 25 }}
      {{- with $values.initContainers }}
      initContainers:
        {{- include "brokergraph.containers" . | nindent 8 }}
      {{- end }}
      containers:
        - name: brokergraph
          {{- include "brokergraph.container" .root | nindent 10 }}
          env:
            - name: ROLE
              value: {{ .role }}
            - name: EMBEDDED_BROKER
              value: {{ ternary "on" "off" .runsBrokers | quote }}
            {{- if .runsBrokers }}
            - name: POD_NAME
              valueFrom:
                fieldRef:
                  fieldPath: metadata.name
            # The other processes connect to the brokers of this one.
            - name: MQTT_ADVERTISED_HOST
              value: $(POD_NAME).{{ $name }}-processes.{{ .root.Release.Namespace }}.svc
            {{- end }}
            {{- with $values.extraEnv }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
          ports:
            - name: http
              containerPort: 4000
            - name: metrics
              containerPort: 9100
            {{- if .runsBrokers }}
            - name: mqtt
              containerPort: 1883
            - name: mqtts
              containerPort: 8883
            - name: mqtt-ws
              containerPort: 9001
            {{- end }}
          {{- range $probe, $path := dict "startupProbe" "/healthz" "readinessProbe" "/readyz" "livenessProbe" "/healthz" }}
          {{ $probe }}:
            httpGet:
              path: {{ $path }}
              port: http
            {{- toYaml (get $values $probe) | nindent 12 }}
          {{- end }}
          resources:
            {{- toYaml (.own.resources | default $values.resources) | nindent 12 }}
          volumeMounts:
            - name: data
              mountPath: /data
            - name: tmp
              mountPath: /tmp
            {{- with $values.extraVolumeMounts }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
        {{- with $values.sidecars }}
        {{- include "brokergraph.containers" . | nindent 8 }}
        {{- end }}
      volumes:
        - name: tmp
          emptyDir:
            sizeLimit: 100Mi
        {{- with $values.extraVolumes }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      topologySpreadConstraints:
        {{- with $values.topologySpreadConstraints }}
        {{- toYaml . | nindent 8 }}
        {{- else }}
        {{- range list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
        - maxSkew: 1
          topologyKey: {{ . }}
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels:
              {{- include "brokergraph.selector" $.root | nindent 14 }}
              app.kubernetes.io/component: {{ $.component }}
        {{- end }}
        {{- end }}
      {{- with $values.affinity }}
      affinity:
        {{- toYaml . | nindent 8 }}
      {{- end }}
  volumeClaimTemplates:
    - apiVersion: v1
      kind: PersistentVolumeClaim
      metadata:
        name: data
      spec:
        accessModes: [ReadWriteOnce]
        {{- with $persistence.storageClass }}
        storageClassName: {{ . | quote }}
        {{- end }}
        resources:
          requests:
            storage: {{ $persistence.size }}
{{- end -}}
