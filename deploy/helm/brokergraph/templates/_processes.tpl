{{/*
A StatefulSet of processes. Its keys: `root` (the context of the chart), `component`, `suffix` of the name, `replicas`
(null if an autoscaler sets the number), `role`, `runsBrokers`.

Each process has a volume, because it stores audit entries there until they are in the database. There is no preStop hook:
after SIGTERM the process serves requests for SHUTDOWN_DELAY_MS.
*/}}
{{- define "brokergraph.processes" -}}
{{- $name := include "brokergraph.name" .root -}}
{{- $values := .root.Values -}}
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
      automountServiceAccountToken: false
      # Variables for each Service of the namespace could have names of settings.
      enableServiceLinks: false
      # The stop takes at most 20 s after the delay.
      terminationGracePeriodSeconds: {{ add $values.shutdownDelaySeconds 25 }}
      securityContext:
        runAsNonRoot: true
        runAsUser: 1000
        runAsGroup: 1000
        fsGroup: 1000
        fsGroupChangePolicy: OnRootMismatch
        seccompProfile:
          type: RuntimeDefault
      {{- with $values.imagePullSecrets }}
      imagePullSecrets:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      containers:
        - name: brokergraph
          image: {{ include "brokergraph.image" .root | quote }}
          imagePullPolicy: {{ $values.image.pullPolicy }}
          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities:
              drop: [ALL]
          envFrom:
            - configMapRef:
                name: {{ $name }}
            - secretRef:
                name: {{ $values.existingSecret }}
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
          # Until the tables are migrated and the brokers run: at most 5 minutes.
          startupProbe:
            httpGet:
              path: /readyz
              port: http
            periodSeconds: 2
            timeoutSeconds: 5
            failureThreshold: 150
          readinessProbe:
            httpGet:
              path: /readyz
              port: http
            periodSeconds: 5
            timeoutSeconds: 5
            failureThreshold: 2
          # Not /readyz: a restart does not bring back a lost database.
          livenessProbe:
            httpGet:
              path: /healthz
              port: http
            periodSeconds: 10
            timeoutSeconds: 5
            failureThreshold: 3
          resources:
            {{- toYaml $values.resources | nindent 12 }}
          volumeMounts:
            - name: data
              mountPath: /data
            - name: tmp
              mountPath: /tmp
      volumes:
        - name: tmp
          emptyDir:
            sizeLimit: 100Mi
      topologySpreadConstraints:
        {{- range list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
        - maxSkew: 1
          topologyKey: {{ . }}
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels:
              {{- include "brokergraph.selector" $.root | nindent 14 }}
        {{- end }}
      {{- with $values.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $values.tolerations }}
      tolerations:
        {{- toYaml . | nindent 8 }}
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
        {{- with $values.persistence.storageClass }}
        storageClassName: {{ . | quote }}
        {{- end }}
        resources:
          requests:
            storage: {{ $values.persistence.size }}
{{- end -}}
