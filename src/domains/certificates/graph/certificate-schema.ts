import { builder } from '../../../gateway/graphql/builder.ts';
import { Node } from '../../../gateway/graphql/node.ts';
import { pageCost, QUESTION_COST } from '../../../gateway/graphql/page-cost.ts';
import { walk } from '../../../gateway/graphql/walk-limit.ts';
import { listConnection } from '../../../gateway/paging.ts';
import { Broker } from '../../brokers/broker-schema.ts';
import { ListenerProtocolEnum } from '../../brokers/cloud-broker-schema.ts';
import { Project } from '../../projects/project-schema.ts';
import type { CertificateRecord } from '../certificate-directory.ts';
import type { CertificateOnListener } from '../certificate-service.ts';
import { daysLeft } from '../expiry/expiry-list.ts';
import type { ListenerView } from '../listener-service.ts';
import type { CertificateFacts } from '../material/certificate-facts.ts';

type FactFields = PothosSchemaTypes.ObjectFieldBuilder<(typeof builder)['$inferSchemaTypes'], CertificateFacts>;

/** What every certificate says of itself. */
const factFields = (t: FactFields) => ({
  subject: t.exposeString('subject', { description: 'As `C=DE, O=Plant, CN=broker`.' }),
  issuer: t.exposeString('issuer', { description: 'The subject of who signed it.' }),
  subjectAltNames: t.stringList({
    description: 'The names that clients may reach it by, as `DNS:localhost` and `IP:127.0.0.1`.',
    resolve: ({ subjectAltNames }) => [...subjectAltNames],
  }),
  validFrom: t.expose('validFrom', { description: 'Not valid before.', type: 'DateTime' }),
  validTo: t.expose('validTo', { description: 'Not valid after.', type: 'DateTime' }),
  serialNumber: t.exposeString('serialNumber', { description: 'Hexadecimal; its issuer gave it.' }),
  fingerprint256: t.exposeString('fingerprint256', { description: 'SHA-256, as `AB:CD:…`.' }),
  keyType: t.exposeString('keyType', { description: 'As RSA, EC or ED25519.' }),
  keyBits: t.exposeInt('keyBits', { description: 'Null where the type has one size only.', nullable: true }),
  isAuthority: t.exposeBoolean('isAuthority', { description: 'It may sign others.' }),
});

const CertificateInfo = builder.objectRef<CertificateFacts>('CertificateInfo').implement({
  description: 'A certificate of a chain.',
  fields: factFields,
});

export const Certificate = builder.objectRef<CertificateRecord>('Certificate');

const CertificateDeployment = builder.objectRef<CertificateOnListener>('CertificateDeployment').implement({
  description: 'A certificate in use on a listener, as the broker has confirmed.',
  fields: (t) => ({
    certificate: t.field({
      description: 'That is used.',
      type: Certificate,
      resolve: ({ certificate }) => certificate,
    }),
    broker: t.field({ description: 'That uses it.', type: Broker, resolve: ({ broker }) => broker }),
    port: t.exposeInt('port', { description: 'Of the listener.' }),
    bindAddress: t.string({
      description: 'Of the listener; null: all addresses.',
      nullable: true,
      resolve: ({ bindAddress }) => bindAddress || null,
    }),
    deployedAt: t.field({
      description: 'When the broker confirmed it last.',
      type: 'DateTime',
      // Those that are not confirmed are told to nobody.
      resolve: ({ deployedAt, certificate }) => deployedAt ?? certificate.updatedAt,
    }),
  }),
});

Certificate.implement({
  description:
    'A certificate of a project. One with its private key is a server’s, one without is that of an authority, which vouches for clients.',
  interfaces: [Node],
  fields: (t) => ({
    id: t.exposeID('id', { description: 'The same in the REST interface.' }),
    name: t.exposeString('name', { description: 'For people.' }),
    filename: t.exposeString('filename', {
      description: 'No other certificate of the project has it; brokers know it by that.',
    }),
    project: t.field({
      description: 'Where it belongs.',
      type: Project,
      resolve: ({ projectId }, _args, { services, viewer }) => services.projects.visible(projectId, viewer),
    }),
    ...factFields(t as unknown as FactFields),
    daysLeft: t.int({
      description: 'Whole days until it, or the first one of its chain, expires; negative: since that.',
      resolve: (certificate) => daysLeft(certificate),
    }),
    hasPrivateKey: t.exposeBoolean('hasPrivateKey', {
      description: 'It is a server’s. The key is sealed and never told.',
    }),
    cert: t.exposeString('cert', { description: 'PEM: the certificate, then its chain.' }),
    chain: t.field({
      description: 'The certificates after it, each the issuer of the one before.',
      type: [CertificateInfo],
      resolve: ({ chain }, _args, context) => [...walk(context, chain)],
    }),
    missingIssuer: t.exposeString('missingIssuer', {
      description:
        'Who signed the last certificate of the chain, where that is not in it: whoever checks it has to know that one. Null: the chain ends with its root.',
      nullable: true,
    }),
    deployments: t.field({
      description: 'Listeners that use it, on brokers that the caller sees.',
      type: [CertificateDeployment],
      resolve: (certificate, _args, context) => [
        ...walk(context, context.services.certificates.deploymentsOf(certificate, context.viewer)),
      ],
    }),
    brokers: t.field({
      description: 'Those of `deployments`, each once.',
      type: [Broker],
      resolve: (certificate, _args, context) => {
        const deployments = context.services.certificates.deploymentsOf(certificate, context.viewer);
        return [...walk(context, [...new Set(deployments.map(({ broker }) => broker))])];
      },
    }),
    createdAt: t.expose('createdAt', { description: 'When it was stored.', type: 'DateTime' }),
    updatedAt: t.expose('updatedAt', { description: 'When it changed last.', type: 'DateTime' }),
  }),
});

const BrokerListener = builder.objectRef<ListenerView>('BrokerListener').implement({
  description: 'Where a broker listens.',
  fields: (t) => ({
    id: t.int({
      description: 'Its number at the broker; null where the broker gives none.',
      nullable: true,
      resolve: ({ entry }) => entry.id,
    }),
    port: t.int({ description: 'TCP.', resolve: ({ entry }) => entry.port }),
    bindAddress: t.string({
      description: 'Null: all addresses.',
      nullable: true,
      resolve: ({ entry }) => entry.bindAddress,
    }),
    protocol: t.field({
      description: 'What is spoken there.',
      type: ListenerProtocolEnum,
      resolve: ({ entry }) => (entry.protocol === 'WEBSOCKET' ? 'WEBSOCKET' : 'MQTT'),
    }),
    tls: t.boolean({ description: 'Connections are encrypted.', resolve: ({ entry }) => entry.tls }),
    requireCertificate: t.boolean({
      description:
        'Clients have to show a certificate of an authority that is deployed there. Null: the broker does not say.',
      nullable: true,
      resolve: ({ entry }) => entry.requireCertificate,
    }),
    certificates: t.field({
      description: 'Those of this service that are deployed there.',
      type: [Certificate],
      resolve: ({ certificates }, _args, context) => [...walk(context, certificates)],
    }),
    server: t.field({
      description:
        'The one of these that is shown to clients; null: none of this service is, and brokers that it runs then fail each handshake.',
      type: Certificate,
      nullable: true,
      resolve: ({ certificates }) => certificates.find(({ hasPrivateKey }) => hasPrivateKey) ?? null,
    }),
  }),
});

builder.objectFields(Project, (t) => ({
  certificates: t.connection(
    {
      description: 'In order of creation.',
      type: Certificate,
      nullable: true,
      complexity: pageCost,
      args: {
        offset: t.arg.int({ description: 'Entries left out at the start.' }),
        brokerId: t.arg.id({ description: 'Only those that are deployed on this broker.' }),
        filename: t.arg.string({ description: 'The one with this filename alone; NOT_FOUND when there is none.' }),
      },
      resolve: ({ id }, { brokerId, filename, ...args }, { services, viewer }) =>
        listConnection(services.certificates.list(id, viewer, { brokerId, filename }), args),
    },
    {
      name: 'CertificateConnection',
      description: 'Certificates of a project.',
      fields: (connection) => ({
        totalCount: connection.exposeInt('totalCount', { description: 'Of the whole list.' }),
      }),
    },
    { name: 'CertificateEdge', description: 'A certificate in its place.' },
  ),
}));

builder.interfaceFields(Broker, (t) => ({
  listeners: t.field({
    description: 'Where it listens, as the broker says now; sockets in the file system are left out.',
    type: [BrokerListener],
    nullable: true,
    complexity: QUESTION_COST,
    resolve: (broker, _args, { services }) => services.listeners.of(broker),
  }),
}));
