import { useBrokers } from '../problems/scope-fields.tsx';
import { useTexts } from '../texts/texts.ts';
import { Field } from '../ui/field.tsx';
import { type ChannelDraft, TARGETS } from './channel-draft.ts';
import type { Channel } from './channel-graph.ts';
import { useChannelPlace } from './channel-place.ts';
import { channelTexts } from './texts.ts';
import { useTargetWords } from './use-target-words.ts';
import { WebhookFields } from './webhook-fields.tsx';

interface TargetFieldsProps {
  /** `null`: a new one. */
  readonly channel: Channel | null;
  readonly draft: ChannelDraft;
  readonly onChange: (part: Partial<ChannelDraft>) => void;
}

/** Where a channel sends. An existing target is replaced as a whole, because its secrets are not returned. */
export function TargetFields({ channel, draft, onChange }: TargetFieldsProps) {
  const text = useTexts(channelTexts);
  const targetText = useTargetWords();
  const { projectId } = useChannelPlace();
  // The service itself has no brokers.
  const targets = TARGETS.filter((one) => one !== 'MQTT' || projectId !== null);
  const { hasTarget, kind } = draft;
  return (
    <>
      {channel && (
        <>
          <p className="quiet">{targetText(channel)}</p>
          <label className="choice">
            <input
              type="checkbox"
              checked={hasTarget}
              onChange={({ currentTarget: { checked } }) => onChange({ hasTarget: checked })}
            />
            <span>
              {text('replaceTarget')} <small>{text('replaceTargetHint')}</small>
            </span>
          </label>
        </>
      )}
      {hasTarget && (
        <>
          <Field label={text('kind')}>
            <select
              value={kind}
              onChange={({ currentTarget: { value } }) =>
                onChange({ kind: TARGETS.find((known) => known === value) ?? kind })
              }
            >
              {targets.map((one) => (
                <option key={one} value={one}>
                  {text(one)}
                </option>
              ))}
            </select>
          </Field>
          {kind === 'WEBHOOK' && <WebhookFields draft={draft} onChange={onChange} />}
          {kind === 'EMAIL' && (
            <Field label={text('to')} hint={text('toHint')}>
              <textarea
                rows={3}
                required={true}
                value={draft.to}
                onInput={({ currentTarget: { value } }) => onChange({ to: value })}
              />
            </Field>
          )}
          {kind === 'MQTT' && <TopicFields draft={draft} onChange={onChange} />}
        </>
      )}
    </>
  );
}

const QOS = [0, 1, 2];

function TopicFields({ draft, onChange }: Pick<TargetFieldsProps, 'draft' | 'onChange'>) {
  const text = useTexts(channelTexts);
  const brokers = useBrokers(useChannelPlace().projectId) ?? [];
  return (
    <>
      <Field label={text('broker')} hint={text('brokerHint')}>
        <select
          required={true}
          value={draft.brokerId}
          onChange={({ currentTarget: { value } }) => onChange({ brokerId: value })}
        >
          <option value="">{text('choose')}</option>
          {brokers.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </select>
      </Field>
      <Field label={text('topic')}>
        <input
          required={true}
          spellCheck={false}
          autoComplete="off"
          placeholder="alarms/brokers"
          value={draft.topic}
          onInput={({ currentTarget: { value } }) => onChange({ topic: value })}
        />
      </Field>
      <Field label={text('qos')}>
        <select value={draft.qos} onChange={({ currentTarget: { value } }) => onChange({ qos: Number(value) })}>
          {QOS.map((qos) => (
            <option key={qos} value={qos}>
              {qos}
            </option>
          ))}
        </select>
      </Field>
    </>
  );
}
