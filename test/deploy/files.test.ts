import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { Ajv } from 'ajv';
import { beforeAll, describe, expect, test } from 'vitest';
import { readConfig } from '../../src/platform/config/config.ts';
import {
  danglingReferences,
  hasLabels,
  ofKind,
  openShiftFaults,
  POD_NAME,
  podSecurityFaults,
  podSpecs,
  settingsOf,
} from './chart-checks.ts';
import { NEEDED, OWN_SETTINGS, VALUES } from './chart-values.ts';
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

describe.skipIf(!canRunHelm)('the chart', () => {
  const SETS = Object.entries(VALUES);

  test('every object of each set of values fits the schema of its kind', async () => {
    expect(SETS.length).toBeGreaterThanOrEqual(12);
    const manifests = await Promise.all(SETS.map(([, values]) => render(values)));
    expect(await kubernetesFaults(manifests.flat())).toEqual([]);
  });

  test('a misspelled field, a wrong type and a wrong text in an object are found', async () => {
    const [service] = ofKind(await render(NEEDED), 'Service') as [Manifest, ...Manifest[]];
    const changed = (spec: object) => ({ ...service, spec: { ...service.spec, ...spec } });
    const [monitor] = ofKind(await render(VALUES['all connections named'] ?? {}), 'ServiceMonitor') as [Manifest];
    const slow = { ...monitor, spec: { ...monitor.spec, endpoints: [{ port: 'metrics', interval: 'often' }] } };
    const faults = await kubernetesFaults([changed({ selectors: {} }), changed({ ports: [{ port: 'http' }] }), slow]);
    for (const found of ['objects.ts(1,', 'objects.ts(2,', 'ServiceMonitor: '])
      expect(faults.filter((fault) => fault.startsWith(found))).not.toEqual([]);
  });

  test.each(SETS)(
    '%s: references exist, pods are restricted, and processes stop within their time',
    async (_name, values) => {
      const manifests = await render(values);
      expect(danglingReferences(manifests)).toEqual([]);
      const settings = settingsOf(manifests);
      const pods = podSpecs(manifests);
      for (const pod of pods) {
        expect(podSecurityFaults(pod)).toEqual([]);
        expect(pod.automountServiceAccountToken).toBe(false);
        expect(pod.containers[0]).toMatchObject({
          securityContext: { readOnlyRootFilesystem: true },
          resources: { limits: { memory: expect.stringMatching(/^\d+[MG]i$/) } },
        });
      }
      for (const { spec } of ofKind(manifests, 'StatefulSet')) {
        // The delay, and the 20 s that the stop may take.
        const maxMs = Number(settings.SHUTDOWN_DELAY_MS) + 20_000;
        expect(spec.template.spec.terminationGracePeriodSeconds * 1_000).toBeGreaterThan(maxMs);
      }
      expect(ofKind(manifests, 'Secret')).toEqual([]);
      const secret = {
        DATABASE_URL: 'postgresql://brokergraph:secret@postgres/brokergraph',
        SECRET_KEY: 'k'.repeat(32),
      };
      const { DATABASE_URL_FILE: _url, SECRET_KEY_FILE: _key, ...read } = settings;
      expect(readConfig({ LDAP_USER_BASE: 'dc=example', ...read, ...secret })).toMatchObject({
        host: '0.0.0.0',
        port: 4000,
        metricsHost: { host: '0.0.0.0', port: 9100 },
      });
    },
  );

  test('what the levels of security refuse is found, and OpenShift chooses users and groups if they are not set', async () => {
    const [fixed] = podSpecs(await render(NEEDED));
    expect(openShiftFaults(fixed)).toEqual(['runAsUser', 'fsGroup']);
    const open = podSpecs(await render(VALUES['users and groups of OpenShift'] ?? {}));
    expect([open.length, open.flatMap(openShiftFaults)]).toEqual([4, []]);
    const [container] = fixed.containers;
    for (const worse of [
      { hostNetwork: true },
      { securityContext: { runAsNonRoot: true } },
      { securityContext: { ...fixed.securityContext, runAsUser: 0 } },
      { volumes: [{ name: 'host', hostPath: { path: '/' } }] },
      { initContainers: [{ name: 'init' }] },
      { containers: [{ ...container, securityContext: { ...container.securityContext, capabilities: {} } }] },
      { containers: [{ ...container, ports: [{ hostPort: 1883 }] }] },
    ])
      expect([worse, podSecurityFaults({ ...fixed, ...worse })]).not.toEqual([worse, []]);
  });

  test('clients reach the brokers of a process that is not ready', async () => {
    const services = ofKind(await render(VALUES['values of each component'] ?? {}), 'Service');
    const ofMqtt = services.filter(({ spec }) => spec.ports.some(({ name }: { name: string }) => name === 'mqtt'));
    expect(ofMqtt.map(({ spec }) => spec.publishNotReadyAddresses)).toEqual(ofMqtt.map(() => true));
    expect(ofMqtt.length).toBeGreaterThan(0);
  });

  test('each component has its own resources, volumes and budget, and otherwise those of all', async () => {
    const manifests = await render(VALUES['values of each component'] ?? {});
    const sets = ofKind(manifests, 'StatefulSet').map(({ metadata, spec }) => [
      metadata.name,
      spec.template.spec.containers[0].resources.limits.memory,
      spec.volumeClaimTemplates[0].spec.resources.requests.storage,
      ofKind(manifests, 'PodDisruptionBudget').find((one) => one.metadata.name === metadata.name)?.spec.maxUnavailable,
    ]);
    expect(sets).toEqual([
      ['demo-brokergraph', '4Gi', '5Gi', 2],
      ['demo-brokergraph-workers', '3Gi', '5Gi', '50%'],
      ['demo-brokergraph-brokers', '4Gi', '100Gi', 0],
    ]);
    const [{ containers }] = podSpecs(manifests) as [Manifest['spec']];
    expect(containers[0]).toMatchObject({
      startupProbe: { httpGet: { path: '/healthz' }, periodSeconds: 2, failureThreshold: 900 },
      readinessProbe: { periodSeconds: 2, timeoutSeconds: 2, failureThreshold: 5 },
      livenessProbe: { httpGet: { path: '/healthz' }, initialDelaySeconds: 5 },
    });
  });

  test('the default limit of memory is enough for what the limits of the settings allow', async () => {
    const limit = podSpecs(await render(NEEDED))[0]?.containers[0].resources.limits.memory;
    const { maxBrokerLinks, maxRequestsMb, maxResponsesMb } = readConfig({});
    const section = text('docs/scaling.md').split('## Sizing')[1] ?? '';
    const [, base, broker] = /memory: (\d+) MB, ([\d.]+) MB for each broker/.exec(section) ?? [];
    const needed = Number(base) + Number(broker) * maxBrokerLinks + maxRequestsMb + maxResponsesMb;
    expect([limit, needed > 1_024, needed < 2_048]).toEqual(['2Gi', true, true]);
    for (const file of ['compose.yaml', 'deploy/compose-cluster.yaml'])
      expect(text(file)).toContain('mem_limit: $' + '{MEMORY_LIMIT:-2g}');
  });

  test('devices reach the further ports of brokers, Prometheus its own namespace, and processes only what egress names', async () => {
    const policyOf = async (name: string) => ofKind(await render(VALUES[name] ?? {}), 'NetworkPolicy');
    const brokers = await render(VALUES['further brokers, reachable from outside'] ?? {});
    const services = ofKind(brokers, 'Service').filter(({ metadata }) => metadata.name.includes('-mqtt-'));
    expect(services.map(({ spec }) => spec)).toEqual(
      [0, 1].map(() =>
        expect.objectContaining({
          type: 'LoadBalancer',
          externalTrafficPolicy: 'Local',
          loadBalancerSourceRanges: ['10.0.0.0/8', 'fd00::/8'],
          ports: expect.arrayContaining([
            { name: 'mqtt', port: 1883, targetPort: 'mqtt' },
            { name: 'mqtt-21883', port: 21_883, targetPort: 21_883 },
            { name: 'mqtt-28883', port: 28_883, targetPort: 28_883 },
          ]),
        }),
      ),
    );
    expect(ofKind(brokers, 'NetworkPolicy')[0]?.spec.ingress.at(-1)).toEqual({
      ports: ['mqtt', 'mqtts', 'mqtt-ws', 21_883, 28_883].map((port) => ({ port })),
      from: [{ ipBlock: { cidr: '10.0.0.0/8' } }],
    });
    const [plain] = await policyOf('the required values');
    expect([plain?.spec.policyTypes, plain?.spec.egress]).toEqual([['Ingress'], undefined]);
    const named = await policyOf('all connections named');
    expect(named.map(({ metadata }) => metadata.name)).toEqual(['demo-brokergraph-backup', 'demo-brokergraph']);
    for (const { spec } of named) {
      expect(spec.policyTypes).toEqual(['Ingress', 'Egress']);
      expect(spec.egress.map(({ ports, to }: { ports?: object; to?: object }) => [to !== undefined, ports])).toEqual([
        [
          false,
          [
            { port: 53, protocol: 'UDP' },
            { port: 53, protocol: 'TCP' },
          ],
        ],
        [true, undefined],
        [true, [{ port: 5432 }]],
        [true, [{ port: 1883, endPort: 8883 }]],
      ]);
    }
    const metrics = named[1]?.spec.ingress.find(
      (rule: { ports: { port: string }[] }) => rule.ports[0]?.port === 'metrics',
    );
    expect(metrics.from.at(-1).namespaceSelector.matchLabels).toEqual({ 'kubernetes.io/metadata.name': 'monitoring' });
    expect(named[0]?.spec.ingress).toEqual([]);
  });

  test('numbers, names of hosts and the public URL reach the service as they are', async () => {
    const settings = settingsOf(await render(VALUES['all of the first version'] ?? {}));
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
    ['the name of a setting', { settings: { MAX_CONNECTIONS: 5 } }, { settings: { MAX_CONECTIONS: 5 } }],
    [
      'a secret',
      { settings: { METRICS_TOKEN_FILE: '/x' } },
      { settings: { METRICS_TOKEN: 'a long token of a scraper' } },
    ],
    ['the place of the secrets', {}, { existingSecret: '', settings: { DATABASE_URL_FILE: '/x' } }],
    ['a variable', { extraEnv: [{ name: 'TZ', value: 'UTC' }] }, { extraEnv: [{ name: 'DATA_DIR', value: '/x' }] }],
    ['the name of a volume', { extraVolumes: [{ name: 'ca' }] }, { extraVolumes: [{ name: 'data' }] }],
    ['a user', { podSecurityContext: { runAsUser: 999 } }, { podSecurityContext: { runAsUser: 0 } }],
    [
      'a budget',
      { podDisruptionBudget: { maxUnavailable: '25%' } },
      { podDisruptionBudget: { maxUnavailable: '125%' } },
    ],
    ['a port', { cloudBrokers: { extraPorts: [21_883] } }, { cloudBrokers: { extraPorts: [1883] } }],
    ['a schedule', { backup: { schedule: '0 3 * * 0' } }, { backup: { schedule: '03:00' } }],
    ['a number of copies', { backup: { keep: 1 } }, { backup: { keep: 0 } }],
  ])('%s is checked', async (_name, accepted, refused) => {
    expect(await isAccepted({ ...NEEDED, ...accepted })).toBe(true);
    expect(await isAccepted({ ...NEEDED, ...refused })).toBe(false);
  });

  test('the settings that are no values are those that the chart sets itself', async () => {
    const manifests = await render({ ...(VALUES['an Ingress without TLS'] ?? {}), cloudBrokers: { enabled: true } });
    const variables = podSpecs(manifests).flatMap(({ containers }) =>
      containers[0].env.map((one: { name: string }) => one.name),
    );
    const own = new Set([...Object.keys(settingsOf(manifests)), ...variables].filter((name) => name !== 'POD_NAME'));
    expect([...own].sort()).toEqual(OWN_SETTINGS);
  });
});
