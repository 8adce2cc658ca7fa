import type { RequestContext } from '../../../gateway/context.ts';
import { builder, inProject, requires } from '../../../gateway/graphql/builder.ts';
import { type ProjectRole, requireWholeProject } from '../../../platform/auth/viewer.ts';
import { Broker } from '../../brokers/broker-schema.ts';
import type { CertificateRecord } from '../certificate-directory.ts';
import type { DeploymentResult, ListenerFailure } from '../deployment/certificate-deployer.ts';
import type { ListenerPlace } from '../deployment/listener-match.ts';
import { Certificate } from './certificate-schema.ts';

interface Target {
  readonly input: { readonly certificateId: string; readonly projectId?: string | null | undefined };
}

/** The role in the project of the certificate. What changes the certificate itself is not for tokens that are restricted to brokers. */
const onCertificate = (role: ProjectRole, what: 'ITSELF' | 'ON_BROKERS') => ({
  authScopes: (_parent: unknown, { input }: Target, { viewer, services }: RequestContext) => {
    services.certificates.visible(input.certificateId, viewer, role, input.projectId);
    if (viewer !== null && what === 'ITSELF') requireWholeProject(viewer);
    return true;
  },
  ...requires(role, what === 'ITSELF' ? { elsewhere: 'NOT_ALLOWED' } : {}),
});

type InputFields = PothosSchemaTypes.InputFieldBuilder<(typeof builder)['$inferSchemaTypes'], 'InputObject'>;

const target = (t: InputFields) => ({
  certificateId: t.id({ description: 'The certificate that it is about.', required: true }),
  projectId: t.id({ description: 'When given, the certificate must be in this project.' }),
});

const CERT =
  'PEM: the certificate, then its chain, each the issuer of the one before. A private key may stand in it, too; comments are left out.';
const KEY = 'PEM, not encrypted. Sealed when stored, never told.';
const FILENAME = 'No other certificate of the project may have it; without a folder, 255 bytes at most.';

const CreateCertificateInput = builder.inputType('CreateCertificateInput', {
  description: 'A certificate of a server with its private key, or that of an authority without.',
  fields: (t) => ({
    projectId: t.id({ description: 'Where it will belong.', required: true }),
    name: t.string({ description: 'For people. Without it: the filename.' }),
    filename: t.string({ description: FILENAME, required: true }),
    cert: t.string({ description: CERT, required: true }),
    privateKey: t.string({ description: KEY }),
  }),
});

const UpdateCertificateInput = builder.inputType('UpdateCertificateInput', {
  description: 'Only what is given changes.',
  fields: (t) => ({
    ...target(t),
    name: t.string({ description: 'For people.' }),
    filename: t.string({ description: FILENAME }),
    cert: t.string({ description: `${CERT} The key that is stored stays, where it belongs to it.` }),
    privateKey: t.string({ description: `${KEY} Null: none any more.` }),
  }),
});

const DeleteCertificateInput = builder.inputType('DeleteCertificateInput', {
  description: 'Which certificate to delete.',
  fields: target,
});

const ListenerInput = builder.inputType('CertificateListenerInput', {
  description: 'A listener of a broker.',
  fields: (t) => ({
    port: t.int({ description: 'TCP.', required: true }),
    bindAddress: t.string({ description: 'Needed where several listeners have the port.' }),
  }),
});

const BrokerInput = builder.inputType('CertificateBrokerInput', {
  description: 'Listeners of one broker.',
  fields: (t) => ({
    brokerId: t.id({ description: 'Of the project of the certificate.', required: true }),
    listeners: t.field({ description: 'One at least, 100 at most.', type: [ListenerInput], required: true }),
  }),
});

const targets = (t: InputFields) => ({
  ...target(t),
  brokers: t.field({ description: 'One at least, 500 at most.', type: [BrokerInput], required: true }),
});

const DeployCertificateInput = builder.inputType('DeployCertificateInput', {
  description: 'Which certificate to use, and where.',
  fields: targets,
});
const UndeployCertificateInput = builder.inputType('UndeployCertificateInput', {
  description: 'Which certificate to use no more, and where.',
  fields: targets,
});

const CertificatePayload = builder
  .objectRef<{ readonly certificate: CertificateRecord }>('CertificatePayload')
  .implement({
    description: 'The certificate that something was done to.',
    fields: (t) => ({
      certificate: t.field({
        description: 'As it is after that.',
        type: Certificate,
        resolve: ({ certificate }) => certificate,
      }),
    }),
  });

const DeleteCertificatePayload = builder
  .objectRef<{ readonly deletedCertificateId: string }>('DeleteCertificatePayload')
  .implement({
    description: 'The certificate that there is no more.',
    fields: (t) => ({ deletedCertificateId: t.exposeID('deletedCertificateId', { description: 'That it had.' }) }),
  });

const PORT = { description: 'As it was asked for.' } as const;
const BIND_ADDRESS = { description: 'As it was asked for; null: it was not.', nullable: true } as const;

const DeployedListener = builder.objectRef<ListenerPlace>('DeployedListener').implement({
  description: 'A listener on which it was done.',
  fields: (t) => ({ port: t.exposeInt('port', PORT), bindAddress: t.exposeString('bindAddress', BIND_ADDRESS) }),
});

const FailedListener = builder.objectRef<ListenerFailure>('FailedListener').implement({
  description: 'A listener on which it was not done.',
  fields: (t) => ({
    port: t.exposeInt('port', PORT),
    bindAddress: t.exposeString('bindAddress', BIND_ADDRESS),
    error: t.exposeString('error', { description: 'Why.' }),
    code: t.exposeString('code', { description: 'Why, as the code of an error.' }),
    isUnknown: t.exposeBoolean('isUnknown', {
      description: 'The answer of the broker was lost and could not be read back: it may have been done.',
    }),
  }),
});

const CertificateBrokerResult = builder.objectRef<DeploymentResult>('CertificateBrokerResult').implement({
  description: 'What became of it on one broker.',
  fields: (t) => ({
    brokerId: t.exposeID('brokerId', { description: 'As it was asked for.' }),
    broker: t.field({
      description: 'Null: there is none of this id that the caller sees.',
      type: Broker,
      nullable: true,
      resolve: ({ broker }) => broker,
    }),
    error: t.exposeString('error', {
      description: 'Why none of its listeners was tried; all of them are in `failed` then. Null: they were.',
      nullable: true,
    }),
    succeed: t.field({
      description: 'Where it was done, as the broker has confirmed.',
      type: [DeployedListener],
      resolve: ({ succeed }) => [...succeed],
    }),
    failed: t.field({
      description: 'Where it was not.',
      type: [FailedListener],
      resolve: ({ failed }) => [...failed],
    }),
  }),
});

interface Deployed {
  readonly certificateId: string;
  readonly results: readonly DeploymentResult[];
}

const CertificateDeploymentPayload = builder.objectRef<Deployed>('CertificateDeploymentPayload').implement({
  description: 'What became of a certificate on listeners.',
  fields: (t) => ({
    certificate: t.field({
      description: 'As it is after that.',
      type: Certificate,
      resolve: ({ certificateId }, _args, { services, viewer }) => services.certificates.visible(certificateId, viewer),
    }),
    results: t.field({
      description: 'One for each broker that was named, in that order.',
      type: [CertificateBrokerResult],
      resolve: ({ results }) => [...results],
    }),
  }),
});

const SORTS =
  'One with its private key is a server’s: a listener has one of these, so another one goes. One without is an authority, whose clients the listener then lets in.';

builder.mutationFields((t) => ({
  createCertificate: t.field({
    description:
      'Stores a certificate. INVALID, with the reasons, what no broker would use: out of its time, weak, a chain that does not hang together, the key of another.',
    type: CertificatePayload,
    ...inProject('ADMIN'),
    args: { input: t.arg({ description: 'The new certificate.', type: CreateCertificateInput, required: true }) },
    resolve: async (_root, { input: { projectId, ...certificate } }, { services }) => ({
      certificate: await services.certificates.create(projectId, certificate),
    }),
  }),
  updateCertificate: t.field({
    description: 'Changes a certificate that is deployed nowhere; else IN_USE.',
    type: CertificatePayload,
    ...onCertificate('EDITOR', 'ITSELF'),
    args: {
      input: t.arg({
        description: 'Which certificate, and what changes.',
        type: UpdateCertificateInput,
        required: true,
      }),
    },
    resolve: async (_root, { input: { certificateId, projectId: _, ...change } }, { services }) => ({
      certificate: await services.certificates.update(certificateId, change),
    }),
  }),
  deleteCertificate: t.field({
    description: 'Deletes a certificate that is deployed nowhere; else IN_USE.',
    type: DeleteCertificatePayload,
    ...onCertificate('ADMIN', 'ITSELF'),
    args: { input: t.arg({ description: 'Which certificate.', type: DeleteCertificateInput, required: true }) },
    resolve: async (_root, { input: { certificateId } }, { services }) => {
      await services.certificates.remove(certificateId);
      return { deletedCertificateId: certificateId };
    },
  }),
  deployCertificate: t.field({
    description: `Has listeners use a certificate; each is done or failed by itself. ${SORTS} Where it is deployed already it is brought again.`,
    type: CertificateDeploymentPayload,
    ...onCertificate('EDITOR', 'ON_BROKERS'),
    args: {
      input: t.arg({ description: 'Which certificate, and where.', type: DeployCertificateInput, required: true }),
    },
    resolve: async (_root, { input: { certificateId, brokers } }, { services, viewer }) => {
      const certificate = services.certificates.visible(certificateId, viewer);
      return { certificateId, results: await services.certificateDeployer.deploy(certificate, brokers, viewer) };
    },
  }),
  undeployCertificate: t.field({
    description:
      'Has listeners use a certificate no more; each is done or failed by itself. Without its server’s certificate a listener fails each handshake.',
    type: CertificateDeploymentPayload,
    ...onCertificate('EDITOR', 'ON_BROKERS'),
    args: {
      input: t.arg({ description: 'Which certificate, and where.', type: UndeployCertificateInput, required: true }),
    },
    resolve: async (_root, { input: { certificateId, brokers } }, { services, viewer }) => {
      const certificate = services.certificates.visible(certificateId, viewer);
      return { certificateId, results: await services.certificateDeployer.undeploy(certificate, brokers, viewer) };
    },
  }),
}));
