import type { ReactNode } from 'react';
import { capabilityTexts } from '../texts/capability-texts.ts';
import { useTexts } from '../texts/texts.ts';
import { AsSent } from './as-sent.tsx';

interface Reason {
  readonly api: string;
  readonly reasonCode: string | null;
  /** In the words of the service. */
  readonly reason: string | null;
}

/** Why a control API of a broker is limited or not available. Unknown codes have the words of the service. */
export function useCapabilityReason(): (reason: Reason) => ReactNode {
  const text = useTexts(capabilityTexts);
  return ({ api, reasonCode, reason }) =>
    isKnown(reasonCode) ? text(reasonCode, { api }) : reason && <AsSent>{reason}</AsSent>;
}

const isKnown = (code: string | null): code is keyof typeof capabilityTexts.en =>
  code !== null && Object.hasOwn(capabilityTexts.en, code);
