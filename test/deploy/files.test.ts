import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { Ajv } from 'ajv';
import { beforeAll, describe, expect, test } from 'vitest';
import { readConfig } from '../../src/platform/config/config.ts';
import { SETTINGS } from '../../src/platform/config/settings.ts';
import {
  CHART,
  canRunHelm,
  composeSchema,
  installDeployTools,
  kubernetesFaults,
  type Manifest,
  parseYaml,
  ROOT,
  render,
} from './deploy-tools.ts';

// One file for all that needs these tools, so that they are installed once.
beforeAll(() => void installDeployTools(), 600_000);

const text = (name: string) => readFileSync(`${ROOT}${name}`, 'utf8');

describe('the Compose files', () => {
  const FILES = ['compose.yaml', 'deploy/compose-cluster.yaml'];
  const validate = () => new Ajv({ strict: false, allErrors: true, validateFormats: false }).compile(composeSchema());

  test.each(FILES)('%s fits the schema of Compose', (file) => {
    const check = validate();
    const compose = parseYaml(text(file)) as { readonly services: Record<string, object> };
    expect([check(compose), check.errors]).toEqual([true, null]);
    const [name = ''] = Object.keys(compose.services);
    const misspelled = {
      ...compose,
      services: { ...compose.services, [name]: { ...compose.services[name], capdrop: [] } },
    };
    expect(check(misspelled)).toBe(false);
  });

  const hasCompose = spawnSync('docker', ['compose', 'version']).status === 0;
  test.skipIf(!hasCompose).each(FILES)('docker compose accepts %s, but not without a password', (file) => {
    const config = (env: Record<string, string>) =>
      spawnSync('docker', ['compose', '-f', file, 'config', '--quiet'], {
        cwd: ROOT,
        env: { PATH: process.env.PATH, ...env },
      }).status;
    const SECRET_KEY = 'a key of more than 32 characters, for this';
    expect(config({ POSTGRES_PASSWORD: 'secret', SECRET_KEY })).toBe(0);
    expect(config({ SECRET_KEY })).not.toBe(0);
  });

  test('each service of the cluster is hardened, and only the balancer and MQTT are published', () => {
    const { services } = parseYaml(text('deploy/compose-cluster.yaml')) as {
      readonly services: Readonly<
        Record<string, { readonly ports?: readonly string[]; readonly volumes?: readonly string[] }>
      >;
    };
    for (const service of Object.values(services)) {
      expect(service).toMatchObject({
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
        mem_limit: expect.stringMatching(/^\$\{\w+:-\d+[mg]\}$/),
        pids_limit: expect.any(Number),
        tmpfs: expect.arrayContaining(['/tmp']),
      });
    }
    const published = Object.values(services).flatMap(({ ports = [] }) => ports);
    expect(published.filter((port) => !/127\.0\.0\.1/.test(port))).toEqual(['8883:8883']);
    expect(Object.keys(services).filter((name) => services[name]?.ports)).toEqual(['haproxy', 'brokergraph-1']);
    // Two processes with one data folder would refuse to start.
    const data = Object.values(services).flatMap(({ volumes = [] }) =>
      volumes.filter((name) => name.endsWith(':/data')),
    );
    expect([data.length, new Set(data).size]).toEqual([3, 3]);
  });

  test('the processes of the cluster have the names and the port that the balancer uses, and valid settings', () => {
    const { services } = parseYaml(text('deploy/compose-cluster.yaml')) as {
      readonly services: Readonly<Record<string, { readonly environment: Readonly<Record<string, string>> }>>;
    };
    const processes = Object.keys(services).filter((name) => name.startsWith('brokergraph-'));
    const servers = [...text('deploy/haproxy.cfg').matchAll(/^ {4}server (\S+) (\S+)$/gm)];
    expect(servers.map(([, name, address]) => [name, address])).toEqual(
      processes.map((name) => [name, `${name}:4000`]),
    );
    const configs = processes.map((name) => {
      const env = services[name]?.environment ?? {};
      const given = Object.fromEntries(Object.entries(env).filter(([, value]) => !value.includes('$')));
      return readConfig({ ...given, SECRET_KEY: 'a key of more than 32 characters, for this' });
    });
    expect(configs.map(({ embeddedBroker }) => embeddedBroker)).toEqual([true, false, false]);
    expect(configs.every(({ trustProxy }) => trustProxy)).toBe(true);
  });
});

const NEEDED = { existingSecret: 'brokergraph' };

const VALUES: Record<string, object> = {
  'the required values': NEEDED,
  'all that is optional': {
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
      httpFrom: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'ingress' } } }],
      metricsFrom: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } }],
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
};

const POD_NAME = 'statefulset.kubernetes.io/pod-name';

const ofKind = (manifests: readonly Manifest[], kind: string) => manifests.filter((one) => one.kind === kind);

const settingsOf = (manifests: readonly Manifest[]): Readonly<Record<string, string>> =>
  ofKind(manifests, 'ConfigMap')[0]?.data;

describe.skipIf(!canRunHelm)('the chart', () => {
  test.each(Object.entries(VALUES))(
    '%s: every object fits the schema of its kind, and its references exist',
    async (_name, values) => {
      const manifests = await render(values);
      expect(await kubernetesFaults(manifests)).toEqual([]);
      expect(danglingReferences(manifests)).toEqual([]);
    },
  );

  test('a misspelled field, a wrong type and a wrong text in an object are found', async () => {
    const [service] = ofKind(await render(NEEDED), 'Service') as [Manifest, ...Manifest[]];
    const changed = (spec: object) => ({ ...service, spec: { ...service.spec, ...spec } });
    const monitor = ofKind(
      await render({ ...NEEDED, serviceMonitor: { enabled: true } }),
      'ServiceMonitor',
    )[0] as Manifest;
    const slow = { ...monitor, spec: { ...monitor.spec, endpoints: [{ port: 'metrics', interval: 'often' }] } };
    expect(await kubernetesFaults([service, monitor])).toEqual([]);
    for (const broken of [changed({ selectors: {} }), changed({ ports: [{ port: 'http' }] }), slow])
      expect(await kubernetesFaults([broken])).not.toEqual([]);
  });

  test.each(Object.entries(VALUES))(
    '%s: each process is hardened, and stops within its time',
    async (_name, values) => {
      const manifests = await render({ ...values, shutdownDelaySeconds: 40 });
      const sets = ofKind(manifests, 'StatefulSet');
      expect(sets.length).toBeGreaterThan(0);
      for (const { spec } of sets) {
        const pod = spec.template.spec;
        expect(pod).toMatchObject({
          automountServiceAccountToken: false,
          securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
        });
        for (const { securityContext, resources } of pod.containers) {
          expect(securityContext).toEqual({
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ['ALL'] },
          });
          expect(resources.limits.memory).toBe('1Gi');
        }
        // The delay, and the 20 s that the stop may take.
        expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(60);
      }
      expect(settingsOf(manifests).SHUTDOWN_DELAY_MS).toBe('40000');
      expect(ofKind(manifests, 'Secret')).toEqual([]);
    },
  );

  test.each(Object.entries(VALUES))('%s: the service accepts the settings', async (_name, values) => {
    const settings = settingsOf(await render(values));
    const secret = { DATABASE_URL: 'postgresql://brokergraph:secret@postgres/brokergraph', SECRET_KEY: 'k'.repeat(32) };
    const config = readConfig({ ...settings, ...secret });
    expect(config).toMatchObject({ host: '0.0.0.0', port: 4000, metricsHost: { host: '0.0.0.0', port: 9100 } });
    const known = new Set<string>(Object.values(SETTINGS).map(({ env }) => env));
    expect(Object.keys(settings).filter((name) => !known.has(name))).toEqual([]);
  });

  test('numbers, names of hosts and the public URL reach the service as they are', async () => {
    const settings = settingsOf(await render(VALUES['all that is optional'] ?? {}));
    expect(settings).toMatchObject({
      RATE_REQUEST_BYTES: '20000000',
      STRICT_ROLES: 'true',
      PUBLIC_URL: 'https://mqtt.example.com',
      TRUST_PROXY: 'on',
      ALLOWED_HOSTS:
        'demo-brokergraph,demo-brokergraph.plant,demo-brokergraph.plant.svc,mqtt.example.com,brokers.example.com,*.internal.example.com',
    });
    expect(settingsOf(await render(NEEDED))).toMatchObject({ TRUST_PROXY: 'off' });
    expect(settingsOf(await render(NEEDED))).not.toHaveProperty('PUBLIC_URL');
  });

  test('only the process for brokers runs them, and an autoscaler sets the number of the others', async () => {
    const shape = (manifests: readonly Manifest[]) =>
      ofKind(manifests, 'StatefulSet').map(({ metadata, spec }) => [
        metadata.name,
        spec.replicas,
        Object.fromEntries(
          spec.template.spec.containers[0].env.map(({ name, value }: { name: string; value?: string }) => [
            name,
            value,
          ]),
        ),
      ]);
    const off = { ROLE: 'all', EMBEDDED_BROKER: 'off' };
    const on = {
      ROLE: 'all',
      EMBEDDED_BROKER: 'on',
      MQTT_ADVERTISED_HOST: '$(POD_NAME).demo-brokergraph-processes.plant.svc',
    };
    const withBrokers = await render({ ...NEEDED, cloudBrokers: { enabled: true, replicas: 2 } });
    expect(shape(withBrokers)).toEqual([
      ['demo-brokergraph', 3, off],
      ['demo-brokergraph-brokers', 2, on],
    ]);
    // Devices of a broker must reach the process that has its data.
    const services = ofKind(withBrokers, 'Service').filter(({ metadata }) => metadata.name.includes('mqtt'));
    expect(services.map(({ metadata, spec }) => [metadata.name, spec.selector[POD_NAME]])).toEqual(
      [0, 1].map((number) => [`demo-brokergraph-mqtt-${number}`, `demo-brokergraph-brokers-${number}`]),
    );
    const autoscaled = await render({ ...NEEDED, autoscaling: { enabled: true, targetLoad: 60 } });
    expect(shape(autoscaled)).toEqual([['demo-brokergraph', undefined, off]]);
    const [{ spec }] = ofKind(autoscaled, 'HorizontalPodAutoscaler') as [Manifest];
    expect(spec.metrics[0].pods).toEqual({
      metric: { name: 'brokergraph_process_load' },
      target: { type: 'AverageValue', averageValue: '600m' },
    });
  });

  test('workers have their role, get no requests, and leave only these to the others', async () => {
    const roles = async (values: object) => {
      const manifests = await render({ ...NEEDED, ...values });
      const [service] = ofKind(manifests, 'Service') as [Manifest];
      return ofKind(manifests, 'StatefulSet').map(({ metadata, spec: { replicas, template } }) => [
        metadata.name,
        replicas,
        template.spec.containers[0].env[0].value,
        hasLabels(template.metadata.labels, service.spec.selector),
      ]);
    };
    expect(await roles({})).toEqual([['demo-brokergraph', 3, 'all', true]]);
    expect(await roles({ workers: { replicas: 2 }, cloudBrokers: { enabled: true } })).toEqual([
      ['demo-brokergraph', 3, 'api', true],
      ['demo-brokergraph-workers', 2, 'worker', false],
      ['demo-brokergraph-brokers', 1, 'all', true],
    ]);
  });

  test('another setting replaces the processes, and another number of them does not', async () => {
    const template = async (values: object) =>
      ofKind(await render({ ...NEEDED, ...values }), 'StatefulSet')[0]?.spec.template;
    const before = await template({});
    expect(await template({ replicas: 5 })).toEqual(before);
    expect(await template({ settings: { LOG_LEVEL: 'debug' } })).not.toEqual(before);
  });

  test('the version of the application is that of the package', () => {
    const chart = parseYaml(text('deploy/helm/brokergraph/Chart.yaml'));
    expect(chart).toMatchObject({ appVersion: JSON.parse(text('package.json')).version });
  });

  // Helm checks with its own validator, ajv shows that the schema has no unknown keyword.
  const schema = new Ajv({ strict: true, strictRequired: false, allErrors: true, allowUnionTypes: true });
  const fits = schema.compile(JSON.parse(readFileSync(`${CHART}/values.schema.json`, 'utf8')));
  const isAccepted = async (values: object) => {
    const byHelm = await render(values).then(
      () => true,
      (error: { readonly stderr: string }) => {
        expect(error.stderr).toContain("values don't meet the specifications of the schema");
        return false;
      },
    );
    expect(fits(values)).toBe(byHelm);
    return byHelm;
  };

  test.each<[string, object, object]>([
    ['the name of the Secret', {}, { existingSecret: '' }],
    ['a setting', { settings: { LOG_LEVEL: 'debug' } }, { settings: { logLevel: 'debug' } }],
    ['the value of a setting', { settings: { LOG_LEVEL: 'debug' } }, { settings: { LOG_LEVEL: ['debug'] } }],
    ['a number of processes', { replicas: 1 }, { replicas: 0 }],
    [
      'a number of processes with brokers',
      { cloudBrokers: { enabled: true, replicas: 1 } },
      { cloudBrokers: { enabled: true, replicas: 0 } },
    ],
    ['a number of workers', { workers: { replicas: 0 } }, { workers: { replicas: -1 } }],
    [
      'hosts of the Ingress',
      { ingress: { enabled: true, hosts: ['a.example'] } },
      { ingress: { enabled: true, hosts: [] } },
    ],
    ['a public URL', { publicUrl: 'https://a.example/mqtt/' }, { publicUrl: 'a.example' }],
    ['a digest', { image: { digest: `sha256:${'0'.repeat(64)}` } }, { image: { digest: 'sha256:0' } }],
    ['a type of Service', { service: { type: 'LoadBalancer' } }, { service: { type: 'Public' } }],
    ['a peer', { networkPolicy: { httpFrom: [{ podSelector: {} }] } }, { networkPolicy: { httpFrom: [{}] } }],
    ['a load', { autoscaling: { targetLoad: 100 } }, { autoscaling: { targetLoad: 0.7 } }],
    ['a delay', { shutdownDelaySeconds: 0 }, { shutdownDelaySeconds: -1 }],
    ['the name of a value', { podLabels: { a: 'b' } }, { podlabels: { a: 'b' } }],
  ])('%s is checked', async (_name, accepted, refused) => {
    expect(await isAccepted({ ...NEEDED, ...accepted })).toBe(true);
    expect(await isAccepted({ ...NEEDED, ...refused })).toBe(false);
  });

  test('secrets and what the chart sets itself are no values, all other settings are', async () => {
    const names = Object.values(SETTINGS).map(({ env }) => env as string);
    const refused = names.filter((name) => !fits({ ...NEEDED, settings: { [name]: 'x' } }));
    const secret = Object.values(SETTINGS).filter((setting) => 'secret' in setting);
    const own = Object.keys(settingsOf(await render(VALUES['an Ingress without TLS'] ?? {})));
    const wanted = [
      ...secret.map(({ env }) => env as string),
      ...own,
      'DATABASE_URL',
      'EMBEDDED_BROKER',
      'MQTT_ADVERTISED_HOST',
      'ROLE',
    ];
    expect(refused.sort()).toEqual([...new Set(wanted)].sort());
  });
});

const hasLabels = (labels: Readonly<Record<string, string>>, selector: Readonly<Record<string, string>>) =>
  Object.entries(selector).every(([name, value]) => labels[name] === value);

/** Selectors without pods, ports without a container, names of objects that do not exist. */
function danglingReferences(manifests: readonly Manifest[]): string[] {
  // Kubernetes adds the label with the name.
  const pods = ofKind(manifests, 'StatefulSet').flatMap(({ metadata, spec: { replicas = 1, template } }) =>
    Array.from({ length: replicas }, (_, number) => {
      const labels = { ...template.metadata.labels, [POD_NAME]: `${metadata.name}-${number}` };
      return { ...template, metadata: { ...template.metadata, labels } };
    }),
  );
  const selected = (selector: Record<string, string>) =>
    pods.filter(({ metadata }) => hasLabels(metadata.labels, selector));
  const portsOf = (selector: Record<string, string>) =>
    selected(selector).flatMap(({ spec }) => spec.containers[0].ports.map(({ name }: { name: string }) => name));
  const exists = (kind: string, name: string) => ofKind(manifests, kind).some(({ metadata }) => metadata.name === name);
  const missing: string[] = [];
  const need = (isThere: boolean, what: string) => void (isThere || missing.push(what));
  for (const { kind, metadata, spec } of manifests) {
    const name = `${kind} ${metadata.name}`;
    if (kind === 'Service')
      for (const { targetPort } of spec.ports)
        need(portsOf(spec.selector).includes(targetPort), `${name}: ${targetPort}`);
    if (kind === 'NetworkPolicy') {
      const known = portsOf(spec.podSelector.matchLabels);
      for (const { ports = [] } of spec.ingress)
        for (const { port } of ports) need(known.includes(port), `${name}: ${port}`);
    }
    if (kind === 'PodDisruptionBudget') need(selected(spec.selector.matchLabels).length === pods.length, name);
    if (kind === 'HorizontalPodAutoscaler') need(exists('StatefulSet', spec.scaleTargetRef.name), name);
    if (kind === 'Ingress')
      for (const { http } of spec.rules) need(exists('Service', http.paths[0].backend.service.name), name);
    if (kind === 'ServiceMonitor') {
      const services = ofKind(manifests, 'Service').filter((one) =>
        hasLabels(one.metadata.labels, spec.selector.matchLabels),
      );
      need(services.length === 1 && services[0]?.spec.ports[0].name === spec.endpoints[0].port, name);
    }
    if (kind === 'StatefulSet') {
      need(exists('Service', spec.serviceName), `${name}: ${spec.serviceName}`);
      need(hasLabels(spec.template.metadata.labels, spec.selector.matchLabels), `${name}: its own pods`);
      const [{ configMapRef }, { secretRef }] = spec.template.spec.containers[0].envFrom;
      need(exists('ConfigMap', configMapRef.name), `${name}: ${configMapRef.name}`);
      need(secretRef.name === NEEDED.existingSecret, `${name}: ${secretRef.name}`);
    }
  }
  return missing;
}
