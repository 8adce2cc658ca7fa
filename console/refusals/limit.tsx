import { useCapabilityReason } from '../ui/use-capability-reason.tsx';

interface LimitProps {
  readonly refusals: { readonly limit: string | null; readonly limitCode: string | null };
}

/** Which refusals the broker does not report. */
export function Limit({ refusals: { limit, limitCode } }: LimitProps) {
  const reasonOf = useCapabilityReason();
  const reason = reasonOf({ api: 'brokergraph/refusals', reason: limit, reasonCode: limitCode });
  return reason === null ? null : <p className="note">{reason}</p>;
}
