import { NEEDED } from './chart-values.ts';
import type { Manifest } from './deploy-tools.ts';

/** Kubernetes adds this label to the pods of a StatefulSet. */
export const POD_NAME = 'statefulset.kubernetes.io/pod-name';

export const ofKind = (manifests: readonly Manifest[], kind: string) => manifests.filter((one) => one.kind === kind);

export const settingsOf = (manifests: readonly Manifest[]): Readonly<Record<string, string>> =>
  ofKind(manifests, 'ConfigMap')[0]?.data;

/** The specification of the pods of each StatefulSet and CronJob. */
export const podSpecs = (manifests: readonly Manifest[]): readonly Manifest['spec'][] => [
  ...ofKind(manifests, 'StatefulSet').map(({ spec }) => spec.template.spec),
  ...ofKind(manifests, 'CronJob').map(({ spec }) => spec.jobTemplate.spec.template.spec),
];

/** The volumes that the level “restricted” of the Pod Security Standards allows. */
const ALLOWED_VOLUMES = [
  'configMap',
  'csi',
  'downwardAPI',
  'emptyDir',
  'ephemeral',
  'persistentVolumeClaim',
  'projected',
  'secret',
];

/** What the level “restricted” refuses: kubernetes.io/docs/concepts/security/pod-security-standards. */
export function podSecurityFaults(pod: Manifest['spec']): string[] {
  const faults: string[] = [];
  const need = (isMet: boolean, what: string) => void (isMet || faults.push(what));
  const { securityContext = {}, containers, initContainers = [], volumes = [] } = pod;
  for (const name of ['hostNetwork', 'hostPID', 'hostIPC']) need(!pod[name], name);
  for (const { name, ...volume } of volumes)
    need(
      Object.keys(volume).every((kind) => ALLOWED_VOLUMES.includes(kind)),
      `volume ${name}`,
    );
  for (const { name, securityContext: own = {}, ports = [] } of [...containers, ...initContainers]) {
    const { runAsNonRoot, runAsUser, seccompProfile } = { ...securityContext, ...own };
    need(runAsNonRoot === true && runAsUser !== 0, `${name}: root`);
    need(['RuntimeDefault', 'Localhost'].includes(seccompProfile?.type), `${name}: seccomp`);
    need(own.allowPrivilegeEscalation === false && !own.privileged, `${name}: privileges`);
    need(own.capabilities?.drop?.includes('ALL'), `${name}: capabilities`);
    need(
      (own.capabilities?.add ?? []).every((one: string) => one === 'NET_BIND_SERVICE'),
      `${name}: added capabilities`,
    );
    need(
      ports.every(({ hostPort }: { hostPort?: number }) => hostPort === undefined),
      `${name}: ports of the machine`,
    );
  }
  return faults;
}

/**
 * What the constraints restricted-v2 of OpenShift refuse besides: users and groups of volumes that are not of the range
 * of the namespace, which the platform chooses if they are not set.
 */
export function openShiftFaults(pod: Manifest['spec']): string[] {
  const contexts = [pod, ...pod.containers, ...(pod.initContainers ?? [])].map(
    ({ securityContext = {} }) => securityContext,
  );
  const chosen = ['runAsUser', 'fsGroup', 'supplementalGroups', 'seLinuxOptions'];
  return contexts.flatMap((context) => chosen.filter((name) => context[name] !== undefined));
}

export const hasLabels = (labels: Readonly<Record<string, string>>, selector: Readonly<Record<string, string>>) =>
  Object.entries(selector).every(([name, value]) => labels[name] === value);

/** Selectors without pods, ports without a container, names of objects that do not exist. */
export function danglingReferences(manifests: readonly Manifest[]): string[] {
  const pods = ofKind(manifests, 'StatefulSet').flatMap(({ metadata, spec: { replicas = 1, template } }) =>
    Array.from({ length: replicas }, (_, number) => {
      const labels = { ...template.metadata.labels, [POD_NAME]: `${metadata.name}-${number}` };
      return { ...template, metadata: { ...template.metadata, labels } };
    }),
  );
  const jobs = ofKind(manifests, 'CronJob').map(({ spec }) => spec.jobTemplate.spec.template);
  const selected = (selector: Record<string, string>) =>
    [...pods, ...jobs].filter(({ metadata }) => hasLabels(metadata.labels, selector));
  const portsOf = (selector: Record<string, string>) =>
    selected(selector).flatMap(({ spec }) =>
      (spec.containers[0].ports ?? []).map(({ name }: { name: string }) => name),
    );
  const exists = (kind: string, name: string) => ofKind(manifests, kind).some(({ metadata }) => metadata.name === name);
  const missing: string[] = [];
  const need = (isThere: boolean, what: string) => void (isThere || missing.push(what));
  const claims = new Set([
    ...ofKind(manifests, 'PersistentVolumeClaim').map(({ metadata }) => metadata.name),
    ...pods.map(({ metadata }) => `data-${metadata.labels[POD_NAME]}`),
    'backups',
  ]);
  // The ports of further brokers have no names.
  const isKnown = (ports: readonly string[], port: string | number) => typeof port === 'number' || ports.includes(port);
  for (const { kind, metadata, spec } of manifests) {
    const name = `${kind} ${metadata.name}`;
    if (kind === 'Service') {
      need(
        selected(spec.selector).every((pod) => pods.includes(pod)),
        `${name}: selects no backups`,
      );
      for (const { targetPort } of spec.ports)
        need(isKnown(portsOf(spec.selector), targetPort), `${name}: ${targetPort}`);
    }
    if (kind === 'NetworkPolicy') {
      const known = portsOf(spec.podSelector.matchLabels);
      need(selected(spec.podSelector.matchLabels).length > 0, name);
      for (const { ports = [] } of spec.ingress)
        for (const { port } of ports) need(isKnown(known, port), `${name}: ${port}`);
    }
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
    }
  }
  // Each process belongs to exactly one budget.
  const budgets = ofKind(manifests, 'PodDisruptionBudget').map(({ spec }) => selected(spec.selector.matchLabels));
  need(budgets.flat().length === pods.length && new Set(budgets.flat()).size === pods.length, 'budgets');
  for (const pod of podSpecs(manifests)) {
    const { serviceAccountName, containers, volumes } = pod;
    need(serviceAccountName === 'default' || exists('ServiceAccount', serviceAccountName), serviceAccountName);
    const [{ envFrom, volumeMounts }] = containers;
    need(exists('ConfigMap', envFrom[0].configMapRef.name), envFrom[0].configMapRef.name);
    if (envFrom[1]) need(envFrom[1].secretRef.name === NEEDED.existingSecret, envFrom[1].secretRef.name);
    const names = ['data', ...volumes.map((volume: { name: string }) => volume.name)];
    for (const { name } of volumeMounts) need(names.includes(name), `volume ${name}`);
    for (const { persistentVolumeClaim: claim } of volumes)
      if (claim) need(claims.has(claim.claimName), claim.claimName);
    for (const term of pod.affinity?.podAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [])
      need(selected(term.labelSelector.matchLabels).length === 1, 'the pod beside which a backup runs');
  }
  return missing;
}
