import { type CertificateFacts, factsOf } from './certificate-facts.ts';
import { missingIssuer, readMaterial } from './certificate-material.ts';

/** The facts of the first certificate of a PEM text, and of its chain. */
export interface ChainFacts extends CertificateFacts {
  readonly chain: readonly CertificateFacts[];
  readonly missingIssuer: string | null;
  /** Of the whole chain, in epoch milliseconds. */
  readonly expiresAt: number;
}

export function chainFacts(cert: string): ChainFacts {
  const material = readMaterial({ cert });
  const [leaf, ...chain] = [material.leaf, ...material.chain].map(factsOf) as [CertificateFacts, ...CertificateFacts[]];
  return {
    ...leaf,
    chain,
    missingIssuer: missingIssuer(material),
    expiresAt: Math.min(...[leaf, ...chain].map(({ validTo }) => Date.parse(validTo))),
  };
}
