import type { RequestContext } from '../../../gateway/context.ts';
import { builder, type InputFields, inProject, requires } from '../../../gateway/graphql/builder.ts';
import { ErrorCode } from '../../../gateway/graphql/error-code.ts';
import { idPayload, inputArgument, payloadsWith } from '../../../gateway/graphql/payloads.ts';
import { ofProject, viewerCan } from '../../../gateway/graphql/viewer-can.ts';
import { type ProjectRole, requireWholeProject } from '../../../platform/auth/viewer.ts';
import { Broker } from '../../brokers/broker-schema.ts';
import { Project } from '../../projects/project-schema.ts';
import type { CertificateRecord } from '../certificate-cache.ts';
import type { DeploymentResult, ListenerFailure } from '../deployment/certificate-deployer.ts';
import type { ListenerAddress } from '../deployment/listener-match.ts';
import { Certificate } from './certificate-schema.ts';

interface Target {
  readonly input: { readonly certificateId: string; readonly projectId?: string | null | undefined };
}

/** Requires the role in the project. Tokens restricted to brokers cannot change the certificate itself. */
const onCertificate = (role: ProjectRole, what: 'ITSELF' | 'ON_BROKERS') => ({
  authScopes: (_parent: unknown, { input }: Target, { viewer, services }: RequestContext) => {
    services.certificates.visible(input.certificateId, viewer, role, input.projectId);
    if (viewer !== null && what === 'ITSELF') requireWholeProject(viewer);
    return true;
  },
  ...requires(role, what === 'ITSELF' ? { elsewhere: 'NOT_ALLOWED' } : {}),
});

const target = (t: InputFields) => ({
  certificateId: t.id({ description: 'Id of the certificate.', required: true }),
  projectId: t.id({ description: 'If given, the certificate must be in this project.' }),
});

const CERT =
  'PEM: the certificate, followed by its chain, each the issuer of the previous one. The text may include the private key. Comments are removed.';
const KEY = 'PEM, not encrypted. The key is sealed when stored and never returned.';
const FILENAME = 'File name without a folder, unique in the project, at most 255 bytes.';

const CreateCertificateInput = builder.inputType('CreateCertificateInput', {
  description: 'A server certificate with its private key, or a certificate authority without one.',
  fields: (t) => ({
    projectId: t.id({ description: 'Project of the new certificate.', required: true }),
    name: t.string({ description: 'Name of the certificate. Default: the filename.' }),
    filename: t.string({ description: FILENAME, required: true }),
    cert: t.string({ description: CERT, required: true }),
    privateKey: t.string({ description: KEY }),
  }),
});

const UpdateCertificateInput = builder.inputType('UpdateCertificateInput', {
  description: 'Changes of a certificate. Missing fields stay unchanged.',
  fields: (t) => ({
    ...target(t),
    name: t.string({ description: 'New name of the certificate.' }),
    filename: t.string({ description: FILENAME }),
    cert: t.string({
      description: `${CERT} The stored key is used unless a new one is given. It must belong to the certificate.`,
    }),
    privateKey: t.string({ description: `${KEY} Null deletes the stored key.` }),
  }),
});

const DeleteCertificateInput = builder.inputType('DeleteCertificateInput', {
  description: 'The certificate to delete.',
  fields: target,
});

const ListenerInput = builder.inputType('CertificateListenerInput', {
  description: 'A listener of a broker.',
  fields: (t) => ({
    port: t.int({ description: 'TCP port of the listener.', required: true }),
    bindAddress: t.string({ description: 'Required if several listeners use the port.' }),
  }),
});

const BrokerInput = builder.inputType('CertificateBrokerInput', {
  description: 'Listeners of one broker.',
  fields: (t) => ({
    brokerId: t.id({ description: 'A broker in the project of the certificate.', required: true }),
    listeners: t.field({ description: '1 to 100 listeners.', type: [ListenerInput], required: true }),
  }),
});

const targets = (t: InputFields) => ({
  ...target(t),
  brokers: t.field({ description: '1 to 500 brokers.', type: [BrokerInput], required: true }),
});

const DeployCertificateInput = builder.inputType('DeployCertificateInput', {
  description: 'The certificate to deploy, and its listeners.',
  fields: targets,
});
const UndeployCertificateInput = builder.inputType('UndeployCertificateInput', {
  description: 'The certificate to undeploy, and its listeners.',
  fields: targets,
});

const certificatePayload = payloadsWith<{ readonly certificate: CertificateRecord }>({
  description: 'Result of a change of a certificate.',
  fields: (t) => ({
    certificate: t.expose('certificate', { description: 'The certificate after the change.', type: Certificate }),
  }),
});

const DeleteCertificatePayload = idPayload(
  'deleteCertificate',
  'deletedCertificateId',
  'Result of deleting a certificate.',
  'Id of the deleted certificate.',
);

const PORT = { description: 'Port in the request.' } as const;
const BIND_ADDRESS = { description: 'Address in the request. Null if the request had none.', nullable: true } as const;

const DeployedListener = builder.objectRef<ListenerAddress>('DeployedListener').implement({
  description: 'A listener on which the operation succeeded.',
  fields: (t) => ({ port: t.exposeInt('port', PORT), bindAddress: t.exposeString('bindAddress', BIND_ADDRESS) }),
});

const FailedListener = builder.objectRef<ListenerFailure>('FailedListener').implement({
  description: 'A listener on which the operation failed.',
  fields: (t) => ({
    port: t.exposeInt('port', PORT),
    bindAddress: t.exposeString('bindAddress', BIND_ADDRESS),
    error: t.exposeString('error', { description: 'Error message.' }),
    code: t.expose('code', { description: 'The code of the error.', type: ErrorCode }),
    isUnknown: t.exposeBoolean('isUnknown', {
      description:
        'Whether the result is unknown: the response of the broker was lost, and the state could not be read afterwards.',
    }),
  }),
});

const CertificateBrokerResult = builder.objectRef<DeploymentResult>('CertificateBrokerResult').implement({
  description: 'Result on one broker.',
  fields: (t) => ({
    brokerId: t.exposeID('brokerId', { description: 'Id in the request.' }),
    broker: t.expose('broker', {
      description: 'The broker. Null if there is none with this id that the caller may see.',
      type: Broker,
      nullable: true,
    }),
    error: t.exposeString('error', {
      description:
        'Why no listener of the broker was tried. All of them are in `failed` then. Null if they were tried.',
      nullable: true,
    }),
    succeed: t.expose('succeed', {
      description: 'Listeners on which the broker confirmed the operation.',
      type: [DeployedListener],
    }),
    failed: t.expose('failed', { description: 'Listeners on which the operation failed.', type: [FailedListener] }),
  }),
});

interface Deployed {
  readonly certificateId: string;
  readonly results: readonly DeploymentResult[];
}

const deploymentPayload = payloadsWith<Deployed>({
  description: 'Result of deploying or undeploying a certificate.',
  fields: (t) => ({
    certificate: t.field({
      description: 'The certificate after the change.',
      type: Certificate,
      resolve: ({ certificateId }, _args, { services, viewer }) => services.certificates.visible(certificateId, viewer),
    }),
    results: t.expose('results', {
      description: 'One result for each broker of the request, in the same order.',
      type: [CertificateBrokerResult],
    }),
  }),
});

const TARGETS = 'The certificate, brokers and listeners.';
const SORTS =
  'A certificate with a private key is a server certificate. It replaces the previous server certificate of the listener. A certificate without a key is an authority: the listener then accepts its clients.';

builder.mutationFields((t) => ({
  createCertificate: t.field({
    description:
      'Stores a certificate. Certificates that no broker would accept are INVALID, with the reasons: expired, weak, an incomplete chain, or the key of another certificate.',
    type: certificatePayload('createCertificate'),
    ...inProject('ADMIN'),
    args: inputArgument(CreateCertificateInput, 'The new certificate.'),
    resolve: async (_root, { input: { projectId, ...certificate } }, { services }) => ({
      certificate: await services.certificates.create(projectId, certificate),
    }),
  }),
  updateCertificate: t.field({
    description: 'Changes a certificate. IN_USE if it is deployed.',
    type: certificatePayload('updateCertificate'),
    ...onCertificate('EDITOR', 'ITSELF'),
    args: inputArgument(UpdateCertificateInput, 'The certificate and the changes.'),
    resolve: async (_root, { input: { certificateId, projectId: _, ...change } }, { services }) => ({
      certificate: await services.certificates.update(certificateId, change),
    }),
  }),
  deleteCertificate: t.field({
    description: 'Deletes a certificate. IN_USE if it is deployed.',
    type: DeleteCertificatePayload,
    ...onCertificate('ADMIN', 'ITSELF'),
    args: inputArgument(DeleteCertificateInput, 'The certificate to delete.'),
    resolve: async (_root, { input: { certificateId } }, { services }) => {
      await services.certificates.remove(certificateId);
      return { deletedCertificateId: certificateId };
    },
  }),
  deployCertificate: t.field({
    description: `Deploys a certificate to listeners. Each listener succeeds or fails separately. ${SORTS} A certificate that is already deployed is sent again.`,
    type: deploymentPayload('deployCertificate'),
    ...onCertificate('EDITOR', 'ON_BROKERS'),
    args: inputArgument(DeployCertificateInput, TARGETS),
    resolve: (_root, { input }, context) => deployed('deploy', input, context),
  }),
  undeployCertificate: t.field({
    description:
      'Removes a certificate from listeners. Each listener succeeds or fails separately. A listener without a server certificate fails each handshake.',
    type: deploymentPayload('undeployCertificate'),
    ...onCertificate('EDITOR', 'ON_BROKERS'),
    args: inputArgument(UndeployCertificateInput, TARGETS),
    resolve: (_root, { input }, context) => deployed('undeploy', input, context),
  }),
}));

async function deployed(
  operation: 'deploy' | 'undeploy',
  { certificateId, brokers }: typeof DeployCertificateInput.$inferInput,
  { services, viewer }: RequestContext,
): Promise<Deployed> {
  const certificate = services.certificates.visible(certificateId, viewer);
  return { certificateId, results: await services.certificateDeployer[operation](certificate, brokers, viewer) };
}

builder.prismaObjectFields(Project, (t) => ({
  viewerCanCreateCertificates: t.boolean(viewerCan('Mutation.createCertificate', 'create certificates', ofProject)),
}));

const ofCertificate = ({ id }: { readonly id: string }) => ({ input: { certificateId: id } });

builder.prismaObjectFields(Certificate, (t) => ({
  viewerCanUpdate: t.boolean(viewerCan('Mutation.updateCertificate', 'change the certificate', ofCertificate)),
  viewerCanDelete: t.boolean(viewerCan('Mutation.deleteCertificate', 'delete the certificate', ofCertificate)),
  viewerCanDeploy: t.boolean(
    viewerCan('Mutation.deployCertificate', 'deploy and undeploy the certificate', ofCertificate),
  ),
}));
