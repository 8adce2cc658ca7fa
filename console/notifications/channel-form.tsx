import { type FormEvent, useState } from 'react';
import { useLocation } from 'wouter';
import { useMutation } from '../graph/use-mutation.ts';
import { ScopeFields } from '../problems/scope-fields.tsx';
import { SecretOnce } from '../project/secret-once.tsx';
import { useDraft } from '../session/use-draft.ts';
import { useTexts } from '../texts/texts.ts';
import { Field } from '../ui/field.tsx';
import { useNotices } from '../ui/notices.tsx';
import { PageHeading } from '../ui/page-heading.tsx';
import { Refusal } from '../ui/problem.tsx';
import { Restored } from '../ui/restored.tsx';
import { Trail } from '../ui/trail.tsx';
import { draftOf, rulesOf, targetOf, withoutSecrets } from './channel-draft.ts';
import { type Channel, CREATE, UPDATE } from './channel-graph.ts';
import { useChannelPlace } from './channel-place.ts';
import { isJson } from './json-text.ts';
import { RuleFields } from './rule-fields.tsx';
import { signingSecret } from './signing-secret.ts';
import { TargetFields } from './target-fields.tsx';
import { channelTexts } from './texts.ts';

interface ChannelFormProps {
  /** `null`: a new one. */
  readonly channel: Channel | null;
  readonly onSaved: () => void;
}

/** Creates or changes a channel. The secret that signs is made here, and shown once. */
export function ChannelForm({ channel, onSaved }: ChannelFormProps) {
  const text = useTexts(channelTexts);
  const notify = useNotices();
  const { projectId, channelAddress } = useChannelPlace();
  const [, navigate] = useLocation();
  const create = useMutation(CREATE);
  const update = useMutation(UPDATE);
  const draft = useDraft(`channel ${channel?.id ?? projectId}`, draftOf(channel, projectId), withoutSecrets);
  const [secret, setSecret] = useState<string | null>(null);
  const { value, change } = draft;
  const { name, hasTarget, kind, body, variables, isSigned } = value;
  const isReady = !(hasTarget && kind === 'WEBHOOK' && body === 'DOCUMENT') || isJson(variables);
  const address = channelAddress(...(channel ? [channel.id] : []));
  const leave = () => {
    onSaved();
    navigate(address);
  };
  const save = async (event: FormEvent) => {
    event.preventDefault();
    const signs = hasTarget && kind === 'WEBHOOK' && isSigned ? signingSecret() : null;
    const shared = { name, rules: rulesOf(value) };
    const target = hasTarget ? targetOf(value, signs) : null;
    const saved =
      channel === null
        ? target && (await create.run({ input: { projectId, ...shared, target } }))
        : await update.run({ input: { channelId: channel.id, ...shared, ...(target && { target }) } });
    if (saved === null) return;
    draft.discard();
    notify(text('saved', { name }));
    if (signs === null) leave();
    else setSecret(signs);
  };
  return (
    <>
      <Trail label={text('trail')} steps={[{ title: text('channels'), address: channelAddress() }]} />
      <form className="channel-form" onSubmit={(event) => void save(event)}>
        <PageHeading of="OBJECT">
          {channel === null ? text('create') : text('changeOf', { name: channel.name })}
        </PageHeading>
        <Restored draft={draft} />
        <div className="channel-columns">
          <fieldset className="fields">
            <legend>{text('target')}</legend>
            <Field label={text('name')}>
              <input
                value={name}
                required={true}
                maxLength={200}
                autoComplete="off"
                placeholder={text('nameExample')}
                onInput={({ currentTarget }) => change({ name: currentTarget.value })}
              />
            </Field>
            <TargetFields channel={channel} draft={value} onChange={change} />
          </fieldset>
          <fieldset className="fields">
            <legend>{text('what')}</legend>
            <ScopeFields projectId={projectId} scope={value} onChange={change} />
            <RuleFields draft={value} onChange={change} />
          </fieldset>
        </div>
        <Refusal error={create.error ?? update.error} />
        <p className="buttons">
          <button type="button" onClick={() => navigate(address)}>
            {text('cancel')}
          </button>
          <button type="submit" disabled={create.isBusy || update.isBusy || !isReady}>
            {text(channel === null ? 'create' : 'save')}
          </button>
        </p>
      </form>
      {secret !== null && <SecretOnce name={name} secret={secret} note={text('secretNote')} onClose={leave} />}
    </>
  );
}
