import { Link } from 'wouter';
import { auditTexts } from '../audit/texts.ts';
import { addressOfWhy } from '../refusals/refusal-address.ts';
import { ruleOf } from '../refusals/refusal-columns.tsx';
import { useTexts } from '../texts/texts.ts';
import { WithTooltip } from '../ui/as-sent.tsx';
import type { ClientEvent } from './event-graph.ts';
import { useEventWords } from './event-words.ts';
import { eventTexts } from './texts.ts';

interface HowProps {
  readonly event: ClientEvent;
  /** Whether the viewer may read who disconnected a client. */
  readonly canReadAudit: boolean;
}

/** Why an event happened and which caller caused it, with links to the rule or the audit. */
export function How({ event, canReadAudit }: HowProps) {
  const text = useTexts(eventTexts);
  const { refusal, detail, reason } = event;
  const how = useEventWords().howOf(event);
  if (refusal !== null) {
    const rule = ruleOf(refusal);
    return (
      <>
        <WithTooltip tooltip={refusal.detail}>{how}</WithTooltip> {rule !== '' && `${text('deniedBy', { rule })} `}
        <Link href={addressOfWhy(event.broker.id, refusal)}>{text('why')}</Link>
      </>
    );
  }
  if (event.operation !== null) return <ByWhom operation={event.operation} />;
  return (
    <>
      <WithTooltip tooltip={detail}>{how}</WithTooltip>
      {reason === 'OTHER' && detail !== null && <small lang="en"> {detail}</small>}
      {reason === 'ADMINISTRATOR' && <small> {text(canReadAudit ? 'notByService' : 'auditNotAllowed')}</small>}
    </>
  );
}

/** The person or the token that disconnected a client. */
function ByWhom({ operation }: { readonly operation: NonNullable<ClientEvent['operation']> }) {
  const text = useTexts(eventTexts);
  const actorText = useTexts(auditTexts);
  const { at, project, actorKind, actorName, operation: name } = operation;
  // The end is exclusive.
  const to = new Date(Date.parse(at) + 1).toISOString();
  const query = new URLSearchParams({ operation: name, from: at, to });
  return (
    <Link href={`${project ? `/projects/${project.id}` : ''}/audit?${query}`} title={text('inAudit')}>
      {text('byWhom', { actor: actorName ?? actorText(actorKind) })}
    </Link>
  );
}
