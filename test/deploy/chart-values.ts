/** Sets of values of the chart, which together use each value. */
export const NEEDED = { existingSecret: 'brokergraph' };

/** Settings that the chart sets itself. */
export const OWN_SETTINGS = [
  'ALLOWED_HOSTS',
  'DATA_DIR',
  'EMBEDDED_BROKER',
  'HOST',
  'LOG_FORMAT',
  'METRICS_HOST',
  'MQTT_ADVERTISED_HOST',
  'PORT',
  'PUBLIC_URL',
  'ROLE',
  'SHUTDOWN_DELAY_MS',
  'TRUST_PROXY',
];

const namespace = (name: string) => ({
  namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': name } },
});

/** A Secret with the certificates of private authorities, as files of each process. */
export const PRIVATE_AUTHORITIES = {
  extraVolumes: [{ name: 'authorities', secret: { secretName: 'authorities' } }],
  extraVolumeMounts: [{ name: 'authorities', mountPath: '/etc/authorities', readOnly: true }],
};

export const VALUES: Readonly<Record<string, object>> = {
  'the required values': NEEDED,
  'all of the first version': {
    ...NEEDED,
    settings: { LOG_LEVEL: 'debug', RATE_REQUEST_BYTES: 20_000_000, STRICT_ROLES: true },
    allowedHosts: ['*.internal.example.com'],
    image: { repository: 'registry.example.com/brokergraph', digest: `sha256:${'a'.repeat(64)}` },
    imagePullSecrets: [{ name: 'registry' }],
    autoscaling: { enabled: true, minReplicas: 2, maxReplicas: 5, targetLoad: 60 },
    workers: { replicas: 2 },
    cloudBrokers: {
      enabled: true,
      replicas: 2,
      service: { type: 'LoadBalancer', annotations: { 'example.com/pool': 'plant' } },
    },
    persistence: { size: '20Gi', storageClass: 'fast' },
    service: { type: 'NodePort', port: 8080, annotations: { 'example.com/team': 'plant' } },
    ingress: {
      enabled: true,
      className: 'nginx',
      annotations: { 'example.com/body-size': '2m' },
      hosts: ['mqtt.example.com', 'brokers.example.com'],
      tlsSecret: 'mqtt-example-com',
    },
    networkPolicy: {
      httpFrom: [namespace('ingress')],
      metricsFrom: [namespace('monitoring')],
      mqttFrom: [{ ipBlock: { cidr: '10.0.0.0/8' } }],
    },
    serviceMonitor: { enabled: true, interval: '15s', labels: { release: 'prometheus' } },
    podAnnotations: { 'example.com/note': 'x' },
    podLabels: { 'example.com/zone': 'a' },
    nodeSelector: { 'kubernetes.io/arch': 'amd64' },
    tolerations: [{ key: 'dedicated', operator: 'Exists', effect: 'NoSchedule' }],
    affinity: { podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] } },
  },
  'one process with brokers, without policies': {
    ...NEEDED,
    replicas: 1,
    cloudBrokers: { enabled: true },
    networkPolicy: { enabled: false },
    image: { tag: '1.2.3' },
  },
  'an Ingress without TLS': { ...NEEDED, ingress: { enabled: true, hosts: ['mqtt.example.com'] } },
  'private authorities and other files': {
    ...NEEDED,
    ...PRIVATE_AUTHORITIES,
    settings: { LDAP_URL: 'ldaps://directory.example.com', LDAP_CA_FILE: '/etc/authorities/ldap.pem' },
    extraEnv: [
      { name: 'NODE_EXTRA_CA_CERTS', value: '/etc/authorities/all.pem' },
      { name: 'LDAP_BIND_PASSWORD', valueFrom: { secretKeyRef: { name: 'directory', key: 'password' } } },
    ],
  },
  'secrets in files only': {
    settings: { DATABASE_URL_FILE: '/etc/secrets/url', SECRET_KEY_FILE: '/etc/secrets/key' },
    extraVolumes: [
      {
        name: 'secrets',
        csi: { driver: 'secrets-store.csi.k8s.io', volumeAttributes: { secretProviderClass: 'vault' } },
      },
    ],
    extraVolumeMounts: [{ name: 'secrets', mountPath: '/etc/secrets', readOnly: true }],
    backup: { enabled: true },
  },
  'init and side containers': {
    ...NEEDED,
    initContainers: [{ name: 'wait', image: 'registry.example.com/wait:1', command: ['wait-for', 'postgres:5432'] }],
    sidecars: [
      {
        name: 'proxy',
        image: 'registry.example.com/proxy:1',
        securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
      },
    ],
  },
  'users and groups of OpenShift': {
    ...NEEDED,
    podSecurityContext: { runAsUser: null, runAsGroup: null, fsGroup: null },
    cloudBrokers: { enabled: true },
    workers: { replicas: 1 },
    backup: { enabled: true },
    initContainers: [{ name: 'wait', image: 'registry.example.com/wait:1' }],
  },
  'own names and an own account': {
    ...NEEDED,
    nameOverride: 'mqtt',
    fullnameOverride: 'plant-brokers',
    serviceAccount: { create: true, annotations: { 'example.com/role': 'reader' } },
    priorityClassName: 'important',
    cloudBrokers: { enabled: true },
    backup: { enabled: true },
  },
  'values of each component': {
    ...NEEDED,
    resources: { requests: { cpu: 1, memory: '1Gi' }, limits: { memory: '4Gi' } },
    podDisruptionBudget: { maxUnavailable: 2 },
    startupProbe: { failureThreshold: 900 },
    readinessProbe: { periodSeconds: 2, timeoutSeconds: 2, failureThreshold: 5 },
    livenessProbe: { initialDelaySeconds: 5 },
    topologySpreadConstraints: [
      {
        maxSkew: 2,
        topologyKey: 'example.com/rack',
        whenUnsatisfiable: 'DoNotSchedule',
        labelSelector: { matchLabels: { 'app.kubernetes.io/instance': 'demo' } },
      },
    ],
    workers: { replicas: 4, resources: { limits: { memory: '3Gi' } }, podDisruptionBudget: { maxUnavailable: '50%' } },
    cloudBrokers: { enabled: true, persistence: { size: '100Gi' }, podDisruptionBudget: { maxUnavailable: 0 } },
  },
  'further brokers, reachable from outside': {
    ...NEEDED,
    cloudBrokers: {
      enabled: true,
      replicas: 2,
      extraPorts: [21_883, 28_883],
      service: {
        type: 'LoadBalancer',
        loadBalancerSourceRanges: ['10.0.0.0/8', 'fd00::/8'],
        externalTrafficPolicy: 'Local',
      },
    },
    service: { type: 'LoadBalancer', loadBalancerSourceRanges: ['192.0.2.0/24'], externalTrafficPolicy: 'Cluster' },
    networkPolicy: { mqttFrom: [{ ipBlock: { cidr: '10.0.0.0/8' } }] },
  },
  'all connections named': {
    ...NEEDED,
    networkPolicy: {
      egress: [
        { to: [{ ipBlock: { cidr: '10.1.0.0/16' } }], ports: [{ port: 5432 }] },
        { to: [namespace('mqtt')], ports: [{ port: 1883, endPort: 8883 }] },
      ],
    },
    serviceMonitor: { enabled: true, prometheusNamespace: 'monitoring' },
    backup: { enabled: true, schedule: '@daily', keep: 30, persistence: { existingClaim: 'backups' } },
  },
};
