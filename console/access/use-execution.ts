import { useState } from 'react';
import { useTexts } from '../texts/texts.ts';
import { useNotices } from '../ui/notices.tsx';
import type { Outcome } from './change.ts';
import { accessTexts } from './texts.ts';

interface Executed {
  readonly outcome: Outcome;
  readonly blastRadius: { readonly clientCount: number };
}

/** What follows the execution of changes: a notice and `onDone`, or a report of what was not done. */
export function useExecution<Report extends Executed>(onDone: () => void) {
  const text = useTexts(accessTexts);
  const notify = useNotices();
  /** `null` until it was executed, and if it was executed completely. */
  const [failed, setFailed] = useState<Report | null>(null);
  const executed = (report: Report | undefined) => {
    if (report === undefined) return;
    if (report.outcome !== 'APPLIED' && report.outcome !== 'UNCHANGED') {
      setFailed(report);
      return;
    }
    const { clientCount: count } = report.blastRadius;
    notify(text(count === 0 ? 'saved' : 'savedAndDisconnected', { count }));
    onDone();
  };
  return { failed, executed };
}
