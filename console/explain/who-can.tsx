import { UsersRound } from 'lucide-react';
import { type FormEvent, useState } from 'react';
import { Link } from 'wouter';
import { accessAddress, whyAddress } from '../access/addresses.ts';
import { useBroker } from '../broker/broker-context.ts';
import { graphql, type ResultOf } from '../graph/graphql.ts';
import { useFresh } from '../graph/use-fresh.ts';
import { useNumbers, useTexts } from '../texts/texts.ts';
import type { Column } from '../ui/column.ts';
import { CopyAs } from '../ui/copy-as.tsx';
import { Empty } from '../ui/empty.tsx';
import { PAGE, Pager } from '../ui/pager.tsx';
import { Problem, Refusal } from '../ui/problem.tsx';
import { Table } from '../ui/table.tsx';
import { TimeField } from '../ui/time-field.tsx';
import { ActionField } from './action-field.tsx';
import { beginOf, ChangesSince } from './changes-since.tsx';
import { DecidingRule } from './looked-at.tsx';
import { whyTexts } from './texts.ts';
import { TopicField } from './topic-field.tsx';
import { useWhy } from './use-why.ts';

const WHO = graphql(`query WhoCan($brokerId: ID!, $action: AccessAction!, $topic: String!, $offset: Int!) {
  whoCan(brokerId: $brokerId, action: $action, topic: $topic, first: 50, offset: $offset) {
    totalCount
    nodes {
      username
      conditional
      reason
      decidedBy { roleName groupName priority verdict rule { aclType topic allow priority } }
    }
  }
}`);

type Grantee = ResultOf<typeof WHO>['whoCan']['nodes'][number];

/** All accounts that may do something, with the rule for each. */
export function WhoCan({ revision }: { readonly revision: number }) {
  const text = useTexts(whyTexts);
  const { inputs } = useWhy();
  const key = `${inputs.action} ${inputs.topic} ${inputs.day}`;
  return (
    <>
      <WhoForm key={`form ${key}`} />
      {inputs.topic !== '' && <Grantees key={key} revision={revision} />}
      {inputs.topic === '' && (
        <Empty icon={UsersRound} title={text('whoPurpose')}>
          <p>{text('whoPurposeText')}</p>
        </Empty>
      )}
    </>
  );
}

function WhoForm() {
  const text = useTexts(whyTexts);
  const { inputs, set } = useWhy();
  const { project } = useBroker();
  const [values, setValues] = useState({ action: inputs.action, topic: inputs.topic, day: inputs.day });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    set(values);
  };
  return (
    <form className="why-form" onSubmit={submit}>
      <ActionField value={values.action} onChange={(action) => setValues({ ...values, action })} />
      <TopicField value={values.topic} onChange={(topic) => setValues({ ...values, topic })} />
      {project.viewerCanReadAudit && (
        <TimeField
          label={text('onDay')}
          isDay={true}
          value={values.day}
          onValue={(day) => setValues({ ...values, day })}
        />
      )}
      <button type="submit">{text('whoCan')}</button>
    </form>
  );
}

function Grantees({ revision }: { readonly revision: number }) {
  const text = useTexts(whyTexts);
  const numberOf = useNumbers();
  const { id } = useBroker();
  const { inputs } = useWhy();
  const { action, topic, day } = inputs;
  const begin = beginOf(day);
  const [page, setPage] = useState(1);
  const variables = { brokerId: id, action, topic, offset: (page - 1) * PAGE };
  const { data, error, isCurrent } = useFresh(WHO, variables, revision);
  if (data === null) return <Problem error={error} />;
  const { nodes, totalCount } = data.whoCan;
  const columns: Column<Grantee>[] = [
    {
      key: 'account',
      title: text('account'),
      cell: ({ username }) =>
        username === null ? (
          text('anonymous')
        ) : (
          <Link href={accessAddress(id, 'accounts', { name: username })}>{username}</Link>
        ),
      value: ({ username }) => username,
    },
    {
      key: 'rule',
      title: text('becauseOf'),
      cell: ({ decidedBy, conditional }) => (
        <>
          {decidedBy ? <DecidingRule decidedBy={decidedBy} /> : text('theDefault')}
          {conditional && <span className="quiet">{text('someClientIds')}</span>}
        </>
      ),
      value: ({ decidedBy }) => (decidedBy ? `${decidedBy.roleName} ${decidedBy.rule?.topic ?? ''}` : 'default'),
    },
    {
      key: 'explain',
      title: text('why'),
      cell: ({ username }) => (
        <Link
          aria-label={text('whyOf', { name: username ?? text('anonymous') })}
          href={whyAddress(id, { account: username, ...(username === null && { anonymous: 'true' }), action, topic })}
        >
          {text('why')}
        </Link>
      ),
      value: () => '',
    },
  ];
  return (
    <div aria-busy={!isCurrent}>
      <Refusal error={error} />
      <div role="status">
        <h2>{text('whoMay', { count: numberOf(totalCount), action: text(action), topic })}</h2>
      </div>
      {begin !== null && <ChangesSince begin={begin} revision={revision} />}
      {nodes.length > 0 && (
        <Table
          label={text('whoCan')}
          columns={columns}
          rows={nodes}
          keyOf={({ username }) => JSON.stringify(username)}
          isStale={!isCurrent}
        />
      )}
      {totalCount > PAGE && <Pager page={page} total={totalCount} onPage={setPage} />}
      <CopyAs document={WHO} variables={variables} />
    </div>
  );
}
