import { LogOut } from 'lucide-react';
import { Fragment } from 'react';
import { Link } from 'wouter';
import { graphql } from '../graph/graphql.ts';
import { useQuery } from '../graph/use-query.ts';
import { SessionTable } from '../session/session-table.tsx';
import { useTexts } from '../texts/texts.ts';
import { CopyAs } from '../ui/copy-as.tsx';
import { Empty } from '../ui/empty.tsx';
import { type Fact, Facts } from '../ui/facts.tsx';
import { PageHeading } from '../ui/page-heading.tsx';
import { Problem } from '../ui/problem.tsx';
import { Time } from '../ui/time.tsx';
import { secondFactorOf } from './managed-person.ts';
import { Memberships } from './memberships.tsx';
import { PersonActions } from './person-actions.tsx';
import { peopleTexts } from './texts.ts';

const PERSON = graphql(`query Person($id: ID!) {
  user(id: $id) {
    id name email isRootAdmin isVerified isRemovable ssoType hasSecondFactor isSecondFactorRequired invitedUntil projectCount brokerCount createdAt
    identities { provider subject checkedAt }
    memberships(first: 100) {
      totalCount
      nodes { createdAt role project { id name } }
    }
  }
  userSessions(userId: $id) { id address createdAt lastUsedAt provider isCurrent }
}`);

/** Others may sign in meanwhile, so the sessions are read again. */
const SESSIONS_MS = 5_000;

export function Person({ id }: { readonly id: string }) {
  const text = useTexts(peopleTexts);
  const { data, error, renew } = useQuery(PERSON, { id }, SESSIONS_MS);
  if (data === null) return <Problem error={error} />;
  const { user, userSessions: sessions } = data;
  if (user === null) return <p role="alert">{text('unknownPerson')}</p>;
  return (
    <>
      <p>
        <Link href="/people">{text('allPeople')}</Link>
      </p>
      <header className="screen">
        <PageHeading>{user.name}</PageHeading>
        <span className="quiet">{user.email}</span>
        <CopyAs document={PERSON} variables={{ id }} />
      </header>
      <Facts
        facts={[
          [text('role'), text(user.isRootAdmin ? 'rootAdministrator' : 'person')],
          [text('isVerified'), text(user.isVerified ? 'yes' : 'no')],
          [text('signsInBy'), user.ssoType ?? text('password')],
          ...(user.identities ?? []).map(
            ({ provider, subject, checkedAt }): Fact => [
              text('identity', { provider }),
              <Fragment key={subject}>
                {subject} (<Time at={checkedAt} />)
              </Fragment>,
            ],
          ),
          [text('secondFactor'), text(secondFactorOf(user))],
          ...(user.invitedUntil
            ? [[text('invitedUntil'), <Time key="invited" at={user.invitedUntil} />] satisfies Fact]
            : []),
          [
            text('ownProjects'),
            text('projectsWithBrokers', { projects: user.projectCount ?? 0, brokers: user.brokerCount ?? 0 }),
          ],
          [text('created'), <Time key="created" at={user.createdAt} />],
        ]}
      />
      <PersonActions person={user} sessionCount={sessions.length} onChanged={renew} />
      <h2>{text('memberships')}</h2>
      {user.isRootAdmin && <p className="quiet">{text('rootIsMember')}</p>}
      {user.memberships && <Memberships memberships={user.memberships} />}
      <h2>{text('sessions')}</h2>
      {sessions.length === 0 ? (
        <Empty icon={LogOut} title={text('noSessions')} />
      ) : (
        <SessionTable label={text('sessions')} sessions={sessions} onEnded={renew} />
      )}
    </>
  );
}
