import { graphql } from '../graph/graphql.ts';
import { useMutation } from '../graph/use-mutation.ts';
import { useDraft } from '../session/use-draft.ts';
import { useTexts } from '../texts/texts.ts';
import { Confirmation } from '../ui/confirmation.tsx';
import { Field } from '../ui/field.tsx';
import { useNotices } from '../ui/notices.tsx';
import { Restored } from '../ui/restored.tsx';
import { type Role, RoleSelect } from './role-select.tsx';
import { ruleTexts } from './rule-texts.ts';
import { ViewerNote } from './viewer-note.tsx';

const CREATE = graphql(`mutation CreateRule($input: CreateSignInRulesInput!) {
  createSignInRules(input: $input) { rules { id } }
}`);
const UPDATE = graphql(`mutation UpdateRule($input: UpdateSignInRuleInput!) {
  updateSignInRule(input: $input) { rule { id } }
}`);

const PROVIDERS = ['SSO', 'LDAP'] as const;
type Provider = (typeof PROVIDERS)[number];

interface Values {
  readonly provider: Provider;
  readonly claimPath: string;
  readonly pattern: string;
  readonly role: Role;
}

interface RuleFormProps {
  readonly projectId: string;
  /** `null`: a new rule. */
  readonly rule: (Values & { readonly id: string }) | null;
  /** Whether a new rule is for the directory, unless another provider is chosen. */
  readonly isLdap: boolean;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

export function RuleForm({ projectId, rule, isLdap, onDone, onClose }: RuleFormProps) {
  const text = useTexts(ruleTexts);
  const notify = useNotices();
  const create = useMutation(CREATE);
  const update = useMutation(UPDATE);
  const draft = useDraft<Values>(`rule ${rule?.id ?? projectId}`, {
    provider: rule?.provider ?? (isLdap ? 'LDAP' : 'SSO'),
    claimPath: rule?.claimPath ?? '',
    pattern: rule?.pattern ?? '',
    role: rule?.role ?? 'VIEWER',
  });
  const { change } = draft;
  const { provider, claimPath, pattern, role } = draft.value;
  const save = async () => {
    const values = { pattern, role, ...(claimPath !== '' && { claimPath }) };
    const saved =
      rule === null
        ? await create.run({ input: { projectId, rules: [{ provider, ...values }] } })
        : await update.run({ input: { ruleId: rule.id, ...values } });
    if (saved === null) return;
    draft.discard();
    notify(text('saved'));
    onDone();
  };
  return (
    <Confirmation
      title={rule === null ? text('createRule') : text('changeOf', { pattern: rule.pattern })}
      action={text(rule === null ? 'createRule' : 'save')}
      isBusy={create.isBusy || update.isBusy}
      error={create.error ?? update.error}
      onConfirm={() => void save()}
      onClose={onClose}
    >
      <div className="fields">
        <Restored draft={draft} />
        <Field label={text('pattern')} hint={text('patternHint')}>
          <input
            // biome-ignore lint/a11y/noAutofocus: the first field of a dialog
            autoFocus={true}
            required={true}
            spellCheck={false}
            autoComplete="off"
            value={pattern}
            onInput={({ currentTarget: { value } }) => change({ pattern: value })}
          />
        </Field>
        <Field label={text('claim')} hint={text('claimHint')}>
          <input
            spellCheck={false}
            autoComplete="off"
            value={claimPath}
            onInput={({ currentTarget: { value } }) => change({ claimPath: value })}
          />
        </Field>
        {rule === null && (
          <Field label={text('provider')}>
            <select
              value={provider}
              onChange={({ currentTarget: { value } }) =>
                change({ provider: PROVIDERS.find((known) => known === value) ?? provider })
              }
            >
              {PROVIDERS.map((known) => (
                <option key={known} value={known}>
                  {text(known)}
                </option>
              ))}
            </select>
          </Field>
        )}
        <Field label={text('role')}>
          <RoleSelect value={role} onChange={(chosen) => change({ role: chosen })} />
        </Field>
        <ViewerNote role={role} />
      </div>
      <p className="note">{text(rule === null ? 'createNote' : 'changeNote')}</p>
    </Confirmation>
  );
}
