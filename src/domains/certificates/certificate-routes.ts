import type { Route, RouteInput } from '../../gateway/rest/route.ts';
import { CREATED_ID } from '../../gateway/rest/schemas.ts';
import {
  CERTIFICATE_CHANGE,
  CERTIFICATES,
  CERTIFICATES_QUERY,
  DEPLOYMENT,
  DEPLOYMENT_RESULTS,
  LISTENER_PROTOCOLS,
  LISTENERS,
  NEW_CERTIFICATE,
} from './certificate-bodies.ts';

const LIST = `query ($projectId: ID!, $brokerId: ID, $filename: String, $first: Int, $after: String) {
  project(id: $projectId) {
    certificates(first: $first, after: $after, brokerId: $brokerId, filename: $filename) {
      totalCount
      nodes { id name filename brokers { id name ha: isCluster } }
      pageInfo { hasNextPage endCursor }
    }
  }
}`;

const CREATE = 'mutation ($input: CreateCertificateInput!) { createCertificate(input: $input) { certificate { id } } }';
const UPDATE = 'mutation ($input: UpdateCertificateInput!) { updateCertificate(input: $input) { certificate { id } } }';
const DELETE =
  'mutation ($input: DeleteCertificateInput!) { deleteCertificate(input: $input) { deletedCertificateId } }';

const RESULTS = 'results { brokerId error succeed { port bindAddress } failed { port bindAddress error } }';
const DEPLOY = `mutation ($input: DeployCertificateInput!) { deployCertificate(input: $input) { ${RESULTS} } }`;
const UNDEPLOY = `mutation ($input: UndeployCertificateInput!) { undeployCertificate(input: $input) { ${RESULTS} } }`;

const READ_LISTENERS = `query ($projectId: ID!, $brokerId: ID!) {
  project(id: $projectId) {
    broker(id: $brokerId) {
      listeners {
        id: number
        port
        bindAddress
        socketPath
        tls: hasTls
        protocol
        requireCertificate: requiresCertificate
        certs: certificates { certificate_id: id name filename }
      }
    }
  }
}`;

/** The path and the body share no name. */
const written = ({ params, body }: RouteInput) => ({ input: { ...body, ...params } });

const LIST_PATH = '/api/projects/{projectId}/certificates';
const CERTIFICATE_PATH = `${LIST_PATH}/{certificateId}`;
const ERRORS = [401, 403, 404, 500] as const;
const DOCUMENTED = { section: '4.3', tag: 'Certificates', since: '3.3' } as const;
/** In REST, `cert` contains the private key. */
const NAMES = { privateKey: 'cert' } as const;
const DEPLOYED = {
  body: DEPLOYMENT,
  variables: written,
  omitNull: ['error', 'succeed.bindAddress', 'failed.bindAddress'],
  response: DEPLOYMENT_RESULTS,
  errors: [400, ...ERRORS],
} as const;

export const certificateRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: LIST_PATH,
    ...DOCUMENTED,
    operationId: 'listCertificates',
    summary: 'List the certificates of a project',
    keywords: 'tls ssl x509',
    query: CERTIFICATES_QUERY,
    operation: LIST,
    variables: ({ params, query }) => ({ ...params, ...query, first: 1_000 }),
    pick: 'project.certificates.nodes',
    total: 'project.certificates.totalCount',
    response: CERTIFICATES,
    errors: ERRORS,
  },
  {
    method: 'POST',
    path: LIST_PATH,
    ...DOCUMENTED,
    operationId: 'createCertificate',
    summary: 'Add a certificate',
    keywords: 'upload import create tls ssl x509',
    description:
      'Stores a certificate. Certificates that no broker would accept are refused with the reasons. Returns the id.',
    body: NEW_CERTIFICATE,
    inputNames: NAMES,
    operation: CREATE,
    variables: written,
    pick: 'createCertificate.certificate',
    response: CREATED_ID,
    errors: [400, ...ERRORS],
  },
  {
    method: 'PUT',
    path: CERTIFICATE_PATH,
    ...DOCUMENTED,
    operationId: 'updateCertificate',
    summary: 'Change a certificate that is not deployed',
    keywords: 'edit renew replace tls ssl',
    description:
      '400 IN_USE if it is deployed. A new certificate without a key uses the stored key, which must belong to it.',
    body: CERTIFICATE_CHANGE,
    inputNames: NAMES,
    operation: UPDATE,
    variables: written,
    status: 204,
    errors: [400, ...ERRORS],
  },
  {
    method: 'DELETE',
    path: CERTIFICATE_PATH,
    ...DOCUMENTED,
    operationId: 'deleteCertificate',
    summary: 'Delete a certificate that is not deployed',
    keywords: 'remove tls ssl',
    description: '400 IN_USE if it is deployed.',
    operation: DELETE,
    variables: ({ params }) => ({ input: params }),
    status: 204,
    errors: [400, ...ERRORS],
  },
  {
    method: 'POST',
    path: `${CERTIFICATE_PATH}/deploy`,
    ...DOCUMENTED,
    ...DEPLOYED,
    operationId: 'deployCertificate',
    summary: 'Deploy a certificate to listeners',
    keywords: 'install activate tls ssl https',
    description:
      'Returns one result for each broker, in the order of the request. Each listener succeeds or fails separately. An expired certificate is 400.',
    operation: DEPLOY,
    pick: 'deployCertificate.results',
  },
  {
    method: 'POST',
    path: `${CERTIFICATE_PATH}/undeploy`,
    ...DOCUMENTED,
    ...DEPLOYED,
    operationId: 'undeployCertificate',
    summary: 'Remove a certificate from listeners',
    keywords: 'uninstall deactivate tls ssl',
    description:
      'Returns results as deploying does. A certificate that is not deployed on the listener counts as removed.',
    operation: UNDEPLOY,
    pick: 'undeployCertificate.results',
  },
  {
    method: 'GET',
    path: '/api/projects/{projectId}/brokers/{brokerId}/listeners',
    tag: 'Brokers',
    since: '3.3',
    operationId: 'listListeners',
    summary: 'List the listeners of a broker',
    keywords: 'ports addresses endpoints',
    description: '405 NOT_SUPPORTED_BY_BROKER if the broker does not report its listeners.',
    operation: READ_LISTENERS,
    pick: 'project.broker.listeners',
    total: 'project.broker.listeners',
    spell: { BrokerListenerProtocol: LISTENER_PROTOCOLS },
    response: LISTENERS,
    errors: [401, 403, 404, 405, 500, 503],
  },
];
