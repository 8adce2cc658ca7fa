import { useNumbers, useTexts } from '../texts/texts.ts';
import { AsSent } from '../ui/as-sent.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Table } from '../ui/table.tsx';
import type { DisconnectReport } from './operations.ts';
import { clientsTexts } from './texts.ts';

interface OutcomeProps {
  readonly title: string;
  readonly report: DisconnectReport;
  readonly onClose: () => void;
}

/** What a disconnect of many clients has done, and why some clients are still connected. */
export function Outcome({ title, report, onClose }: OutcomeProps) {
  const text = useTexts(clientsTexts);
  const numberText = useNumbers();
  const others = (report.results ?? []).filter(({ status }) => status !== 'DISCONNECTED');
  const counts = [
    ['DISCONNECTED', report.disconnectedCount],
    ['alsoDisconnected', report.alsoDisconnected.length],
    ['REFUSED', report.refusedCount],
    ['NOT_FOUND', report.notFoundCount],
    ['FAILED', report.failedCount],
  ] as const;
  return (
    <Dialog title={title} onClose={onClose}>
      <dl>
        {counts.map(
          ([key, count], index) =>
            (index === 0 || count > 0) && [
              <dt key={key}>{text(key)}</dt>,
              <dd key={`${key} count`}>{numberText(count)}</dd>,
            ],
        )}
      </dl>
      {others.length > 0 && (
        <Table
          label={text('notDisconnected')}
          columns={[
            { key: 'client', title: text('client'), cell: ({ clientId }) => clientId },
            { key: 'result', title: text('result'), cell: ({ status }) => text(status) },
            {
              key: 'reason',
              title: text('reason'),
              cell: ({ error }) => <AsSent>{error?.message}</AsSent>,
              value: ({ error }) => error?.message,
            },
          ]}
          rows={others}
          keyOf={({ clientId }) => clientId}
        />
      )}
      <p className="buttons">
        <button type="button" onClick={onClose}>
          {text('close')}
        </button>
      </p>
    </Dialog>
  );
}
