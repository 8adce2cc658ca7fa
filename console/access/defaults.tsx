import { type FormEvent, useId, useState } from 'react';
import { graphql } from '../graph/graphql.ts';
import { useFresh } from '../graph/use-fresh.ts';
import { useTexts } from '../texts/texts.ts';
import { CopyAs } from '../ui/copy-as.tsx';
import { Field } from '../ui/field.tsx';
import { Problem } from '../ui/problem.tsx';
import { useAccess } from './access-context.ts';
import type { Change } from './change.ts';
import { ChangeDialog } from './change-dialog.tsx';
import { groups, HeldWords } from './held-words.tsx';
import { Suggestions } from './suggestions.tsx';
import { accessTexts } from './texts.ts';

const DEFAULTS = graphql(`query AccessDefaults($id: ID!) {
  broker(id: $id) {
    defaultAcl { publishClientSend publishClientReceive subscribe unsubscribe }
    anonymousGroup { groupName }
  }
}`);

const KEYS = ['publishClientSend', 'publishClientReceive', 'subscribe', 'unsubscribe'] as const;
type Acl = Readonly<Record<(typeof KEYS)[number], boolean>>;

interface Asked {
  readonly title: string;
  readonly change: Change;
}

/** What decides if no rule matches, and the group of clients without a user name. */
export function Defaults() {
  const text = useTexts(accessTexts);
  const { brokerId, revision, canChange, isLive } = useAccess();
  const [asked, setAsked] = useState<Asked | null>(null);
  const { data, error } = useFresh(DEFAULTS, { id: brokerId }, revision);
  if (!data?.broker?.defaultAcl) return <Problem error={error} />;
  const { defaultAcl, anonymousGroup } = data.broker;
  const name = anonymousGroup?.groupName ?? '';
  return (
    <div className={isLive ? '' : 'stale'}>
      <h2>{text('defaultAcl')}</h2>
      <p className="quiet">{text('defaultAclMeans')}</p>
      {/* The form begins again with the values of the broker after each change of them. */}
      <DefaultAclForm
        key={JSON.stringify(defaultAcl)}
        acl={defaultAcl}
        canChange={canChange}
        onChange={(change) => setAsked({ title: text('saveDefaultAcl'), change: { setDefaultAcl: change } })}
      />
      <h2>{text('anonymousGroup')}</h2>
      <p className="quiet">{text('anonymousGroupMeans')}</p>
      <p>
        {anonymousGroup ? (
          <HeldWords kind="groups" held={groups([{ groupName: name, priority: -1 }])} />
        ) : (
          text('noAnonymousGroup')
        )}
      </p>
      {canChange && (
        <AnonymousForm
          key={name}
          name={name}
          onChange={(groupName) =>
            setAsked({ title: text('saveAnonymousGroup'), change: { setAnonymousGroup: { groupName } } })
          }
        />
      )}
      <CopyAs document={DEFAULTS} variables={{ id: brokerId }} />
      {asked && (
        <ChangeDialog
          title={asked.title}
          action={asked.title}
          changes={[asked.change]}
          onDone={() => setAsked(null)}
          onClose={() => setAsked(null)}
        />
      )}
    </div>
  );
}

interface DefaultAclFormProps {
  readonly acl: Acl;
  readonly canChange: boolean;
  readonly onChange: (change: Partial<Acl>) => void;
}

function DefaultAclForm({ acl, canChange, onChange }: DefaultAclFormProps) {
  const text = useTexts(accessTexts);
  const [values, setValues] = useState<Acl>(acl);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onChange(Object.fromEntries(KEYS.filter((key) => values[key] !== acl[key]).map((key) => [key, values[key]])));
  };
  return (
    <form className="fields access-fields" onSubmit={submit}>
      {KEYS.map((key) => (
        <Field key={key} label={text(key)}>
          <select
            value={String(values[key])}
            disabled={!canChange}
            onChange={({ currentTarget: { value } }) => setValues({ ...values, [key]: value === 'true' })}
          >
            <option value="true">{text('allowed')}</option>
            <option value="false">{text('denied')}</option>
          </select>
        </Field>
      ))}
      {canChange && (
        <p className="buttons">
          <button type="submit" disabled={KEYS.every((key) => values[key] === acl[key])}>
            {text('showChanges')}
          </button>
        </p>
      )}
    </form>
  );
}

function AnonymousForm({ name, onChange }: { readonly name: string; readonly onChange: (name: string) => void }) {
  const text = useTexts(accessTexts);
  const list = useId();
  const [value, setValue] = useState(name);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onChange(value);
  };
  return (
    <form className="bar" onSubmit={submit}>
      <input
        aria-label={text('anonymousGroup')}
        list={list}
        value={value}
        required
        onInput={({ currentTarget: { value: typed } }) => setValue(typed)}
      />
      <Suggestions id={list} kind="groups" typed={value} />
      <button type="submit" disabled={value === name}>
        {text('showGroupChange')}
      </button>
    </form>
  );
}
