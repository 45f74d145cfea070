/** Stands where an API token belongs. */
export const TOKEN = '<token>'

const NAME = 'ziggurat'

/** Clients of the protocol that have a configuration for this server. */
export const CLIENTS = ['Claude Code', 'Cursor', 'VS Code'] as const

export type Client = (typeof CLIENTS)[number]

/** Writes the configuration that makes this server known to a client. Without a token it has no headers. */
export function clientConfiguration(client: Client, origin: string, token: string | null = TOKEN, name = NAME): string {
  const server = { url: `${origin}/mcp`, ...(token !== null && { headers: { Authorization: `Bearer ${token}` } }) }
  switch (client) {
    case 'Claude Code': {
      const header = token === null ? '' : ` --header ${quoted(`Authorization: Bearer ${token}`)}`
      return `claude mcp add --transport http ${name} ${quoted(server.url)}${header}`
    }
    case 'Cursor':
      return JSON.stringify({ mcpServers: { [name]: server } }, null, 2)
    case 'VS Code':
      return JSON.stringify({ servers: { [name]: { type: 'http', ...server } } }, null, 2)
  }
}

/** Quotes a word for a POSIX shell. */
export const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`
