import { type CertificateFacts, factsOf } from './certificate-facts.ts';
import { missingIssuer, readStored } from './certificate-material.ts';

/** The facts of the first certificate of a PEM text, and of its chain. */
export interface ChainFacts extends CertificateFacts {
  readonly chain: readonly CertificateFacts[];
  readonly missingIssuer: string | null;
  /** Of the whole chain, in epoch milliseconds. */
  readonly expiresAt: number;
}

/** Of a text that `readMaterial` has accepted. Verifies one signature, that of the last certificate. */
export function chainFacts(cert: string): ChainFacts {
  const material = readStored(cert);
  const [leaf, ...chain] = [material.leaf, ...material.chain].map(factsOf) as [CertificateFacts, ...CertificateFacts[]];
  return {
    ...leaf,
    chain,
    missingIssuer: missingIssuer(material),
    expiresAt: Math.min(...[leaf, ...chain].map(({ validTo }) => Date.parse(validTo))),
  };
}
