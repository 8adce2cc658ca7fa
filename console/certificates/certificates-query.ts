import { graphql, type ResultOf } from '../graph/graphql.ts';

export const CERTIFICATES = graphql(`query Certificates($id: ID!, $offset: Int!) {
  project(id: $id) {
    viewerCanCreateCertificates
    problemThresholds { certificateDays }
    certificates(first: 50, offset: $offset) {
      totalCount
      nodes {
        id
        name
        filename
        subject
        issuer
        subjectAltNames
        serialNumber
        fingerprint256
        keyType
        keyBits
        isAuthority
        hasPrivateKey
        validFrom
        validTo
        daysLeft
        missingIssuer
        chain { subject issuer validTo fingerprint256 }
        deployments { port bindAddress deployedAt broker { id name } }
        viewerCanDelete
        viewerCanDeploy
      }
    }
  }
}`);

type Found = NonNullable<NonNullable<ResultOf<typeof CERTIFICATES>['project']>['certificates']>;
export type Certificate = Found['nodes'][number];
export type Deployment = Certificate['deployments'][number];

/** Text for a listener: its port, and its address if it has one. */
export const listenerText = ({ port, bindAddress }: Pick<Deployment, 'port' | 'bindAddress'>): string =>
  bindAddress === null ? String(port) : `${bindAddress}:${port}`;

/** Listeners in the form of the mutations, by broker. */
export function targetsOf(
  listeners: readonly { readonly brokerId: string; readonly port: number; readonly bindAddress: string | null }[],
) {
  const targets = new Map<string, { port: number; bindAddress?: string }[]>();
  for (const { brokerId, port, bindAddress } of listeners) {
    const target = { port, ...(bindAddress !== null && { bindAddress }) };
    targets.set(brokerId, [...(targets.get(brokerId) ?? []), target]);
  }
  return [...targets].map(([brokerId, all]) => ({ brokerId, listeners: all }));
}
