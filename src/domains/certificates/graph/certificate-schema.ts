import { builder } from '../../../gateway/graphql/builder.ts';
import { Node } from '../../../gateway/graphql/node.ts';
import { BROKER_QUERY_COST, pageCost } from '../../../gateway/graphql/page-cost.ts';
import { walk } from '../../../gateway/graphql/walk-limit.ts';
import { listConnection } from '../../../gateway/paging.ts';
import { Broker } from '../../brokers/broker-schema.ts';
import { ListenerProtocolEnum } from '../../brokers/cloud-broker-schema.ts';
import { Project } from '../../projects/project-schema.ts';
import type { CertificateRecord } from '../certificate-cache.ts';
import type { CertificateOnListener } from '../certificate-service.ts';
import type { ListenerView } from '../deployment/certificate-deployer.ts';
import { daysLeft } from '../expiry/certificate-expiry.ts';
import type { CertificateFacts } from '../material/certificate-facts.ts';

type FactFields = PothosSchemaTypes.ObjectFieldBuilder<(typeof builder)['$inferSchemaTypes'], CertificateFacts>;

const factFields = (t: FactFields) => ({
  subject: t.exposeString('subject', { description: 'Subject, such as `C=DE, O=Plant, CN=broker`.' }),
  issuer: t.exposeString('issuer', { description: 'Subject of the issuer.' }),
  subjectAltNames: t.stringList({
    description: 'Names of the server, such as `DNS:localhost` and `IP:127.0.0.1`.',
    resolve: ({ subjectAltNames }) => [...subjectAltNames],
  }),
  validFrom: t.expose('validFrom', { description: 'Start of the validity period.', type: 'DateTime' }),
  validTo: t.expose('validTo', { description: 'End of the validity period.', type: 'DateTime' }),
  serialNumber: t.exposeString('serialNumber', {
    description: 'Serial number in hexadecimal, assigned by the issuer.',
  }),
  fingerprint256: t.exposeString('fingerprint256', { description: 'SHA-256 fingerprint, such as `AB:CD:…`.' }),
  keyType: t.exposeString('keyType', { description: 'Key type, such as RSA, EC or ED25519.' }),
  keyBits: t.exposeInt('keyBits', {
    description: 'Key size in bits. Null if the key type has only one size.',
    nullable: true,
  }),
  isAuthority: t.exposeBoolean('isAuthority', { description: 'Whether it is a certificate authority.' }),
});

const CertificateInfo = builder.objectRef<CertificateFacts>('CertificateInfo').implement({
  description: 'A certificate of a chain.',
  fields: factFields,
});

export const Certificate = builder.objectRef<CertificateRecord>('Certificate');

const CertificateDeployment = builder.objectRef<CertificateOnListener>('CertificateDeployment').implement({
  description: 'A certificate that is deployed on a listener, as confirmed by the broker.',
  fields: (t) => ({
    certificate: t.expose('certificate', { description: 'The deployed certificate.', type: Certificate }),
    broker: t.expose('broker', { description: 'The broker of the listener.', type: Broker }),
    port: t.exposeInt('port', { description: 'Port of the listener.' }),
    bindAddress: t.string({
      description: 'Address of the listener. Null for all addresses.',
      nullable: true,
      resolve: ({ bindAddress }) => bindAddress || null,
    }),
    deployedAt: t.field({
      description: 'When the broker last confirmed the deployment.',
      type: 'DateTime',
      // Unconfirmed deployments are not returned.
      resolve: ({ deployedAt, certificate }) => deployedAt ?? certificate.updatedAt,
    }),
  }),
});

Certificate.implement({
  description:
    'A certificate of a project: a server certificate with its private key, or a certificate authority of clients without one.',
  interfaces: [Node],
  fields: (t) => ({
    id: t.exposeID('id', { description: 'Id of the certificate, as in REST.' }),
    name: t.exposeString('name', { description: 'Name of the certificate.' }),
    filename: t.exposeString('filename', {
      description: 'File name, unique in the project. Brokers identify the certificate by it.',
    }),
    project: t.field({
      description: 'Project of the certificate.',
      type: Project,
      resolve: ({ projectId }, _args, { services, viewer }) => services.projects.visible(projectId, viewer),
    }),
    ...factFields(t as unknown as FactFields),
    daysLeft: t.int({
      description: 'Whole days until the first certificate of the chain expires. Negative after it has expired.',
      resolve: (certificate) => daysLeft(certificate),
    }),
    hasPrivateKey: t.exposeBoolean('hasPrivateKey', {
      description: 'Whether it is a server certificate with a private key. The key is sealed and never returned.',
    }),
    cert: t.exposeString('cert', { description: 'PEM: the certificate, followed by its chain.' }),
    chain: t.field({
      description: 'Certificates after the first, each the issuer of the previous one.',
      type: [CertificateInfo],
      resolve: ({ chain }, _args, context) => [...walk(context, chain)],
    }),
    missingIssuer: t.exposeString('missingIssuer', {
      description:
        'Issuer of the last certificate if the issuer is not in the chain. A client must know this issuer to verify the certificate. Null if the chain ends with its root.',
      nullable: true,
    }),
    deployments: t.field({
      description: 'Listeners on which the certificate is deployed, on brokers that the caller may see.',
      type: [CertificateDeployment],
      resolve: (certificate, _args, context) => [
        ...walk(context, context.services.certificates.deploymentsOf(certificate, context.viewer)),
      ],
    }),
    brokers: t.field({
      description: 'Brokers of `deployments`, each once.',
      type: [Broker],
      resolve: (certificate, _args, context) => {
        const deployments = context.services.certificates.deploymentsOf(certificate, context.viewer);
        return [...walk(context, [...new Set(deployments.map(({ broker }) => broker))])];
      },
    }),
    createdAt: t.expose('createdAt', { description: 'When the certificate was created.', type: 'DateTime' }),
    updatedAt: t.expose('updatedAt', { description: 'When the certificate last changed.', type: 'DateTime' }),
  }),
});

const BrokerListener = builder.objectRef<ListenerView>('BrokerListener').implement({
  description: 'A listener of a broker.',
  fields: (t) => ({
    id: t.exposeInt('id', {
      description: 'Id of the listener at the broker. Null if the broker reports none.',
      nullable: true,
    }),
    port: t.exposeInt('port', { description: 'TCP port.' }),
    bindAddress: t.exposeString('bindAddress', {
      description: 'Address of the listener. Null for all addresses.',
      nullable: true,
    }),
    protocol: t.expose('protocol', { description: 'Protocol of the listener.', type: ListenerProtocolEnum }),
    tls: t.exposeBoolean('tls', { description: 'Whether connections are encrypted.' }),
    requireCertificate: t.exposeBoolean('requireCertificate', {
      description:
        'Whether clients must present a certificate of an authority that is deployed on the listener. Null if the broker does not report it.',
      nullable: true,
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
      resolve: ({ id }, { brokerId, filename, ...args }, { services, viewer }) =>
        listConnection(services.certificates.list(id, viewer, { brokerId, filename }), args),
    },
    {
      name: 'CertificateConnection',
      description: 'A page of certificates.',
      fields: (connection) => ({
        totalCount: connection.exposeInt('totalCount', { description: 'Number of all certificates.' }),
      }),
    },
    { name: 'CertificateEdge', description: 'A certificate and its cursor.' },
  ),
}));

builder.interfaceFields(Broker, (t) => ({
  listeners: t.field({
    description: 'Listeners of the broker, as the broker reports them now. Unix domain sockets are left out.',
    type: [BrokerListener],
    nullable: true,
    complexity: BROKER_QUERY_COST,
    resolve: (broker, _args, { services }) => services.certificateDeployer.listenersOf(broker),
  }),
}));
