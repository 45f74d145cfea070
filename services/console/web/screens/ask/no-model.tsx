import { CodeText } from '../../parts/code-text'
import { Icon, type IconName } from '../../parts/icon'
import { addressOf, place } from '../../shell/router'
import { SCREENS } from '../../shell/screens'
import { ask as text } from '../../text/ask'

/** The card of a server without a model: how to add one, and what needs none. */
export function NoModel() {
  const ways: { screen: string; icon: IconName; name: string; note: string; open?: string }[] = [
    { screen: 'sql', icon: 'sql', name: text.withoutSql, note: text.withoutSqlText },
    { screen: 'schema', icon: 'schema', name: text.withoutTable, note: text.withoutTableText },
    { screen: 'search', icon: 'search', name: text.withoutSearch, note: text.withoutSearchText },
    { screen: 'tools', icon: 'prompt', name: text.withoutPrompt, note: text.withoutPromptText, open: 'prompt/explore-database' },
    { screen: 'tools', icon: 'link', name: text.withoutClient, note: text.withoutClientText, open: 'tool/query_database' },
  ]
  return (
    <div class="no-model">
      <h2>{text.noModelTitle}</h2>
      <p>{text.noModelText}</p>
      <CodeText text={text.noModelKeys} />
      <p>{text.without}</p>
      <ul>
        {ways
          .filter(({ screen }) => SCREENS.some(({ name }) => name === screen))
          .map(({ screen, icon, name, note, open }) => (
            <li key={name}>
              <a href={addressOf(place.value, { screen, ...(open && { query: { open } }) })}>
                <Icon name={icon} />
                <span>
                  {name}
                  <span class="muted">{note}</span>
                </span>
              </a>
            </li>
          ))}
      </ul>
    </div>
  )
}
