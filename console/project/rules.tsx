import { KeyRound } from 'lucide-react';
import { useState } from 'react';
import { graphql, type ResultOf } from '../graph/graphql.ts';
import { useQuery } from '../graph/use-query.ts';
import { useTexts } from '../texts/texts.ts';
import type { Column } from '../ui/column.ts';
import { CopyAs } from '../ui/copy-as.tsx';
import { Empty } from '../ui/empty.tsx';
import { Problem } from '../ui/problem.tsx';
import { RowMenu } from '../ui/row-menu.tsx';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { useProject } from './project-context.ts';
import { RemoveRule } from './remove-rule.tsx';
import { RuleForm } from './rule-form.tsx';
import { ruleTexts } from './rule-texts.ts';

const RULES = graphql(`query SignInRules($id: ID!) {
  project(id: $id) {
    viewerCanManageSignInRules
    signInRules { id provider claimPath pattern role createdAt }
  }
  signInOffers { hasLdap hasOpenIdConnect }
}`);

export type Rule = NonNullable<NonNullable<ResultOf<typeof RULES>['project']>['signInRules']>[number];
type Open = { readonly kind: 'form' | 'remove'; readonly rule: Rule } | { readonly kind: 'new' };

const EVERY_MS = 10_000;

/** Which groups of a provider get which role in the project. */
export function Rules() {
  const text = useTexts(ruleTexts);
  const { id } = useProject();
  const { data, error, renew } = useQuery(RULES, { id }, EVERY_MS);
  const [open, setOpen] = useState<Open | null>(null);
  const found = data?.project;
  const rules = found?.signInRules;
  if (!rules || !data) return <Problem error={error} />;
  const { hasLdap, hasOpenIdConnect } = data.signInOffers;
  const canManage = found.viewerCanManageSignInRules;
  const columns: Column<Rule>[] = [
    {
      key: 'pattern',
      title: text('pattern'),
      cell: ({ pattern }) => <code>{pattern}</code>,
      value: ({ pattern }) => pattern,
    },
    {
      key: 'claim',
      title: text('claim'),
      cell: ({ claimPath }) => <code>{claimPath}</code>,
      value: (rule) => rule.claimPath,
    },
    {
      key: 'provider',
      title: text('provider'),
      cell: ({ provider }) => text(provider),
      value: ({ provider }) => provider,
    },
    { key: 'role', title: text('role'), cell: ({ role }) => text(role), value: ({ role }) => role },
    {
      key: 'created',
      title: text('created'),
      cell: ({ createdAt }) => <Time isRelative={true} at={createdAt} />,
      value: (rule) => rule.createdAt,
    },
  ];
  const actions: Column<Rule> = {
    key: 'actions',
    title: text('actions'),
    cell: (rule) => (
      <RowMenu name={rule.pattern}>
        <button type="button" onClick={() => setOpen({ kind: 'form', rule })}>
          {text('changeOf', { pattern: rule.pattern })}
        </button>
        <button type="button" className="danger" onClick={() => setOpen({ kind: 'remove', rule })}>
          {text('removeOf', { pattern: rule.pattern })}
        </button>
      </RowMenu>
    ),
  };
  const close = () => setOpen(null);
  const changed = () => {
    close();
    renew();
  };
  return (
    <>
      <p>{text('explanation')}</p>
      {!hasLdap && !hasOpenIdConnect && <p className="note">{text('noProvider')}</p>}
      {canManage && (
        <p>
          <button type="button" onClick={() => setOpen({ kind: 'new' })}>
            {text('createRule')}
          </button>
        </p>
      )}
      {rules.length === 0 && <Empty icon={KeyRound} title={text('noRules')} />}
      {rules.length > 0 && (
        <Table
          label={text('rules')}
          columns={canManage ? [...columns, actions] : columns}
          rows={rules}
          keyOf={(rule) => rule.id}
        />
      )}
      <CopyAs document={RULES} variables={{ id }} />
      {open?.kind === 'new' && (
        <RuleForm projectId={id} rule={null} isLdap={!hasOpenIdConnect && hasLdap} onDone={changed} onClose={close} />
      )}
      {open?.kind === 'form' && (
        <RuleForm projectId={id} rule={open.rule} isLdap={false} onDone={changed} onClose={close} />
      )}
      {open?.kind === 'remove' && <RemoveRule rule={open.rule} onDone={changed} onClose={close} />}
    </>
  );
}
