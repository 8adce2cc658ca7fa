import type { RequestContext } from '../../../gateway/context.ts';
import { builder, type OutputFields } from '../../../gateway/graphql/builder.ts';
import { describedEnum } from '../../../gateway/graphql/described-enum.ts';
import { findsNamedNode, findsNode, Node } from '../../../gateway/graphql/node.ts';
import { BROKER_QUERY_COST, pageCost } from '../../../gateway/graphql/page-cost.ts';
import { type RowList, rowConnection } from '../../../gateway/graphql/row-connection.ts';
import { totalCount } from '../../../gateway/graphql/total-count.ts';
import { belongsToBroker, belongsToProject, withBroker } from '../../../gateway/graphql/type-scopes.ts';
import { walk } from '../../../gateway/graphql/walk-limit.ts';
import { namedNodeId } from '../../../gateway/named-node-id.ts';
import type { CertificateFacts } from '../../../protocol/certificates/certificate-facts.ts';
import { Broker } from '../../brokers/broker-schema.ts';
import { ListenerProtocolVersion, ProxyProtocol } from '../../brokers/cloud-broker-schema.ts';
import { Project } from '../../projects/project-schema.ts';
import { daysLeft } from '../days-left.ts';
import type { ListenerView } from '../deployment/certificate-deployer.ts';

/** `columns` is the selection that `factsOf` needs of a row. */
const factFields = <Parent>(
  t: OutputFields<Parent>,
  factsOf: (parent: Parent, context: RequestContext) => CertificateFacts,
  columns: object = {},
) => {
  const fact = <Key extends keyof CertificateFacts>(key: Key, description: string) => ({
    ...columns,
    description,
    resolve: (parent: Parent, _args: unknown, context: RequestContext) => factsOf(parent, context)[key],
  });
  return {
    subject: t.string(fact('subject', 'Subject, such as `C=DE, O=Plant, CN=broker`.')),
    issuer: t.string(fact('issuer', 'Subject of the issuer.')),
    subjectAltNames: t.stringList(
      fact('subjectAltNames', 'Names of the server, such as `DNS:localhost` and `IP:127.0.0.1`.'),
    ),
    validFrom: t.field({ type: 'DateTime', ...fact('validFrom', 'Start of the validity period.') }),
    validTo: t.field({ type: 'DateTime', ...fact('validTo', 'End of the validity period.') }),
    serialNumber: t.string(fact('serialNumber', 'Serial number in hexadecimal, assigned by the issuer.')),
    fingerprint256: t.string(fact('fingerprint256', 'SHA-256 fingerprint, such as `AB:CD:…`.')),
    keyType: t.string(fact('keyType', 'Key type, such as RSA, EC or ED25519.')),
    keyBits: t.int({
      nullable: true,
      ...fact('keyBits', 'Key size in bits. Null if the key type has only one size.'),
    }),
    isAuthority: t.boolean(fact('isAuthority', 'Whether it is a certificate authority.')),
  };
};

export const CertificateInfo = builder.objectRef<CertificateFacts>('CertificateInfo').implement({
  description: 'What a certificate contains.',
  fields: (t) => factFields(t, (facts) => facts),
});

const TEXT = { id: true, cert: true } as const;

/** Facts are parsed from the text of the row; those of cached certificates are known. */
const factsOf = (row: { readonly id: string; readonly cert: string }, { services }: RequestContext) =>
  services.certificates.factsOf(row);

export const Certificate = builder.prismaObject('Certificate', {
  description:
    'A certificate of a project: a server certificate with its private key, or a certificate authority of clients without one.',
  ...belongsToProject(({ projectId }: { readonly projectId: string }) => projectId),
  interfaces: [Node],
  select: { id: true, projectId: true },
  fields: (t) => ({
    id: t.id({ description: 'Id of the certificate, as in REST.', resolve: ({ id }) => id }),
    name: t.exposeString('name', { description: 'Name of the certificate.' }),
    filename: t.exposeString('filename', {
      description: 'File name, unique in the project. Brokers identify the certificate by it.',
    }),
    project: t.field({
      description: 'Project of the certificate.',
      type: Project,
      resolve: ({ projectId }, _args, { services, viewer }) => services.projects.visible(projectId, viewer),
    }),
    ...factFields(t as unknown as OutputFields<Parameters<typeof factsOf>[0]>, factsOf, { select: TEXT }),
    daysLeft: t.int({
      description: 'Whole days until the first certificate of the chain expires. Negative after it has expired.',
      select: TEXT,
      resolve: (row, _args, context) => daysLeft(factsOf(row, context)),
    }),
    hasPrivateKey: t.boolean({
      description: 'Whether it is a server certificate with a private key. The key is sealed and never returned.',
      resolve: ({ id }, _args, { services }) => services.certificates.hasPrivateKey(id),
    }),
    cert: t.exposeString('cert', { description: 'PEM: the certificate, followed by its chain.' }),
    chain: t.field({
      description: 'Certificates after the first, each the issuer of the previous one.',
      type: [CertificateInfo],
      select: TEXT,
      resolve: (row, _args, context) => [...walk(context, factsOf(row, context).chain)],
    }),
    missingIssuer: t.string({
      description:
        'Issuer of the last certificate if the issuer is not in the chain. A client must know this issuer to verify the certificate. Null if the chain ends with its root.',
      nullable: true,
      select: TEXT,
      resolve: (row, _args, context) => factsOf(row, context).missingIssuer,
    }),
    createdAt: t.expose('createdAt', { description: 'When the certificate was created.', type: 'DateTime' }),
    updatedAt: t.expose('updatedAt', { description: 'When the certificate last changed.', type: 'DateTime' }),
  }),
});

findsNode('certificate', (id, { services, viewer }) => services.certificates.visible(id, viewer));

const CertificateDeployment = builder.prismaObject('CertificateDeployment', {
  description: 'A certificate that is deployed on a listener, as confirmed by the broker.',
  ...belongsToBroker(({ brokerId }: { readonly brokerId: string }) => brokerId),
  select: { certificateId: true, brokerId: true },
  fields: (t) => ({
    certificate: t.field({
      description: 'The deployed certificate.',
      type: Certificate,
      // Not a relation, which a query would follow as deep as it is nested before anything is counted.
      resolve: ({ certificateId }, _args, { services, viewer }) => services.certificates.visible(certificateId, viewer),
    }),
    broker: t.field({
      description: 'The broker of the listener.',
      type: Broker,
      resolve: ({ brokerId }, _args, { services, viewer }) => services.brokers.visible(brokerId, viewer),
    }),
    port: t.exposeInt('port', { description: 'Port of the listener.' }),
    bindAddress: t.string({
      description: 'Address of the listener. Null for all addresses.',
      nullable: true,
      select: { bindAddress: true },
      resolve: ({ bindAddress }) => bindAddress || null,
    }),
    deployedAt: t.field({
      description: 'When the broker last confirmed the deployment.',
      type: 'DateTime',
      select: { deployedAt: true },
      // Unconfirmed deployments are not returned.
      resolve: ({ deployedAt }) => deployedAt ?? new Date(),
    }),
  }),
});

const CONFIRMED = {
  where: { deployedAt: { not: null } },
  orderBy: [{ brokerId: 'asc' as const }, { port: 'asc' as const }, { bindAddress: 'asc' as const }],
};

/** Those on brokers that the caller may see, counted as nested lists are. */
const seenOf = <Row extends { readonly brokerId: string }>(rows: readonly Row[], context: RequestContext) => {
  const { services, viewer } = context;
  return [...walk(context, rows)].flatMap((row) => {
    const broker = services.brokers.seen(row.brokerId, viewer);
    return broker === null ? [] : [{ row, broker }];
  });
};

builder.prismaObjectFields(Certificate, (t) => ({
  deployments: t.field({
    description: 'Listeners on which the certificate is deployed, on brokers that the caller may see.',
    type: [CertificateDeployment],
    select: (_args, _context, nestedSelection) => ({ deployments: nestedSelection(CONFIRMED) }),
    resolve: ({ deployments }, _args, context) => seenOf(deployments, context).map(({ row }) => row),
  }),
  brokers: t.field({
    description: 'Brokers of `deployments`, each once.',
    type: [Broker],
    select: { deployments: { select: { brokerId: true }, ...CONFIRMED } },
    resolve: ({ deployments }, _args, context) => [
      ...new Set(seenOf(deployments, context).map(({ broker }) => broker)),
    ],
  }),
}));

/** Identifies a listener at its broker, as in the rows of deployments. */
const keyOf = ({ port, bindAddress, socketPath }: ListenerView): string => `${port}/${socketPath ?? bindAddress ?? ''}`;

const BrokerListenerProtocol = describedEnum<NonNullable<ListenerView['protocol']>>(
  'BrokerListenerProtocol',
  'What a listener of a broker accepts.',
  {
    MQTT: 'MQTT over TCP, TLS or a Unix domain socket.',
    WEBSOCKET: 'MQTT over WebSocket.',
    HTTP_API: 'The HTTP interface of Mosquitto 2.1. MQTT clients cannot connect to it.',
  },
);

/** What was chosen when the broker was created. */
const settingsOf = ({ broker, id }: ListenerView) => broker.listeners.find(({ number }) => number === id);

const BrokerListener = builder.objectRef<ListenerView>('BrokerListener').implement({
  ...withBroker,
  description: 'A listener of a broker.',
  interfaces: [Node],
  fields: (t) => ({
    id: t.id({
      description: 'Depends on the broker, the port, and the address or the path only.',
      resolve: (listener) =>
        namedNodeId({ kind: 'brokerListener', brokerId: listener.broker.id, name: keyOf(listener) }),
    }),
    number: t.exposeInt('id', {
      description: 'Number of the listener at the broker. Null if the broker reports none.',
      nullable: true,
    }),
    broker: t.expose('broker', { description: 'The broker of the listener.', type: Broker }),
    port: t.exposeInt('port', { description: 'TCP port. 0 for a Unix domain socket.' }),
    bindAddress: t.exposeString('bindAddress', {
      description: 'Address of the listener. Null for all addresses, and for a Unix domain socket.',
      nullable: true,
    }),
    socketPath: t.exposeString('socketPath', {
      description: 'Path of the Unix domain socket. Null for TCP.',
      nullable: true,
    }),
    protocol: t.expose('protocol', {
      description: 'Protocol of the listener. Null if the broker reports another one.',
      type: BrokerListenerProtocol,
      nullable: true,
    }),
    hasTls: t.exposeBoolean('tls', { description: 'Whether connections are encrypted.' }),
    requiresCertificate: t.exposeBoolean('requireCertificate', {
      description:
        'Whether clients must present a certificate of an authority that is deployed on the listener. Null if the broker does not report it.',
      nullable: true,
    }),
    protocolVersions: t.field({
      description:
        'The versions of MQTT that clients may use. Null if all may be used, or this service does not run the broker.',
      type: [ListenerProtocolVersion],
      nullable: true,
      resolve: (listener) => settingsOf(listener)?.protocolLevels?.split(',').map(Number) as (3 | 4 | 5)[] | undefined,
    }),
    proxyProtocol: t.field({
      description:
        'The version of the PROXY protocol that each connection must begin with. Null if there is none, or this service does not run the broker.',
      type: ProxyProtocol,
      nullable: true,
      resolve: (listener) => settingsOf(listener)?.proxyProtocol as 1 | 2 | null | undefined,
    }),
    certificates: t.field({
      description: 'Certificates of this service that are deployed on the listener.',
      type: [Certificate],
      resolve: ({ certificates }, _args, context) => [...walk(context, certificates)],
    }),
    server: t.field({
      description:
        'The deployed server certificate. Null if there is none. Brokers that this service runs then fail each handshake.',
      type: Certificate,
      nullable: true,
      resolve: ({ certificates }) => certificates.find(({ hasPrivateKey }) => hasPrivateKey) ?? null,
    }),
  }),
});

findsNamedNode('brokerListener', async (broker, key, { services }) => {
  const listeners = await services.certificateDeployer.listenersOf(broker);
  return listeners.find((listener) => keyOf(listener) === key) ?? null;
});

const CERTIFICATES: RowList = { kind: 'Certificate', key: 'id', direction: 'asc' };

builder.prismaObjectFields(Project, (t) => ({
  certificates: t.connection(
    {
      description: 'Certificates of the project, in order of creation.',
      type: Certificate,
      nullable: true,
      complexity: pageCost,
      args: {
        offset: t.arg.int({ description: 'Number of entries to skip.' }),
        brokerId: t.arg.id({ description: 'Only certificates that are deployed on this broker.' }),
        filename: t.arg.string({ description: 'Only the certificate with this filename. NOT_FOUND if there is none.' }),
      },
      // Not in the resolver, which Pothos does not call if only `totalCount` is selected.
      authScopes: ({ id }, { brokerId }, { services, viewer }) => {
        if (brokerId != null) services.brokers.visible(brokerId, viewer, 'VIEWER', id);
        return true;
      },
      resolve: ({ id: projectId }, args, context, info) => {
        const { certificates } = context.services;
        const target = { projectId, brokerId: args.brokerId, filename: args.filename };
        return rowConnection(CERTIFICATES, args, context, info, {
          find: (query) => certificates.list(target, query),
          count: () => certificates.count(target),
        });
      },
    },
    {
      name: 'CertificateConnection',
      description: 'A page of certificates.',
      fields: (page) => totalCount(page, 'Number of all certificates.'),
    },
    { name: 'CertificateEdge' },
  ),
}));

builder.interfaceFields(Broker, (t) => ({
  listeners: t.field({
    description: 'Listeners of the broker, as the broker reports them now.',
    type: [BrokerListener],
    nullable: true,
    complexity: BROKER_QUERY_COST,
    resolve: (broker, _args, { services }) => services.certificateDeployer.listenersOf(broker),
  }),
}));
