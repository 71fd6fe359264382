# Messages about the configuration, for the command line and for queues that are set over the API. A cause follows the
# name of its key. The attribute `next` says what to write instead.

# The place of a value.

from-default = por omisión
from-file = { $path } línea { $line }
from-preset = preset { $name }
from-demo = demo

# A refused value, with its place.

setting-refused = { $origin }: { $setting } { $wrong }
    .next = { $next }; { $page } explica cada clave
setting-refused-default = { $setting } { $wrong }
    .next = { $next }; { $page } explica cada clave
setting-detail = { $wrong }; { $next }
setting-nested = { $field } { $wrong }
    .next = { $next }
setting-unknown = { $origin }: clave desconocida `{ $key }`
    .next = quite la línea; claves conocidas: { $names }
setting-unknown-in = { $origin }: clave desconocida `{ $key }` en [{ $table }]
    .next = quite la línea; claves conocidas: { $names }
setting-unknown-meant = { $origin }: clave desconocida `{ $key }`; ¿quiso decir `{ $meant }`?
    .next = escriba `{ $meant }`, o quite la línea; { $page } tiene todas las claves
setting-unknown-meant-in = { $origin }: clave desconocida `{ $key }` en [{ $table }]; ¿quiso decir `{ $meant }`?
    .next = escriba `{ $meant }`, o quite la línea; { $page } tiene todas las claves
setting-no-table = { $origin }: { $setting } es { $found }
    .next = escríbala como tabla, [{ $setting }]; { $page } tiene un ejemplo
setting-lease-prefix = { $origin }: una tabla bajo [leases] tiene un nombre que no es un prefijo
    .next = escriba la parte del nombre del recurso antes del primer `:`, como en [leases.file]
setting-queue-name = { $origin }: una tabla bajo [queues]: { $cause }
    .next = dé otro nombre a la cola
setting-source-list = { $origin }: sync.source es { $found }
    .next = escriba [[sync.source]] con dos corchetes, porque puede haber varias

# The file.

config-unreadable = no se pudo leer la configuración { $path }: { $cause }
    .next = revise la ruta de --config o TURNO_CONFIG, y que este usuario pueda leer el archivo
config-too-large = no se pudo leer la configuración { $path }: tiene { $size } bytes, más de { $max }
    .next = revise la ruta de --config o TURNO_CONFIG
config-syntax = { $origin }: { $cause }
    .next = corrija la línea; el archivo es TOML, donde los textos van entre comillas

# Forms and bounds.

setting-bound = es { $number }, y debe estar entre { $min } y { $max }
    .next = escriba un número de { $min } a { $max }
setting-between = debe estar entre { $min } y { $max }
    .next = escriba un número de { $min } a { $max }
setting-form = es { $found }, y debe ser { $expected }
    .next = escriba { $expected }
setting-choice = debe ser uno de { $choices }
    .next = escriba uno de { $choices }
setting-choice-meant = debe ser uno de { $choices }
    .next = escriba "{ $meant }"
form-text = un texto
form-text-quoted = un texto entre comillas
form-texts = una lista de textos, como ["uno", "dos"]
form-number = un número entero
form-number-between = un número entero entre { $min } y { $max }
form-number-or-false = un número entero entre { $min } y { $max }, o false
form-switch = true o false
form-table = una tabla
form-list = una lista
form-list-with = una lista con { $found }
form-large-number = un número de más de 64 bits
form-fraction = un número con decimales
form-date = una fecha
form-other = otra cosa
form-choice = uno de { $choices }

# Texts.

setting-database = no es la URL de una base
    .next = escriba sqlite:RUTA, por ejemplo sqlite:turno.db, o postgres://USUARIO@HOST/BASE
setting-database-kind = nombra { $scheme }://, que no es compatible
    .next = use sqlite: o postgres://, por ejemplo sqlite:turno.db o postgres://USUARIO@HOST/BASE
setting-database-parameter = no se puede usar: { $cause }
    .next = corrija el parámetro; docs/operating/tls.md tiene la lista de los parámetros de TLS
setting-address = no es una dirección
    .next = escriba HOST:PUERTO, por ejemplo 127.0.0.1:7171 o [::1]:0
setting-url = no es una URL de HTTP
    .next = escriba http://HOST[:PUERTO]/RUTA o https://HOST[:PUERTO]/RUTA
setting-url-credentials = tiene un usuario o una contraseña
    .next = quite usuario y contraseña; use `secret_env` para firmar las peticiones
setting-url-query = tiene algo después de ? o #
    .next = termínela con el host o una ruta
setting-oidc-missing = falta
    .next = escriba issuer, client_id y client_secret_env en [oidc]
setting-oidc-scopes = no tiene "openid"
    .next = agregue "openid" a la lista
setting-oidc-role = no es un rol
    .next = escriba "viewer", "editor" o "admin"
setting-oidc-roles = falta o está vacío, así que ninguna persona podría entrar
    .next = asigne un rol a un grupo del proveedor, como en roles = {"{"} "staff" = "editor" {"}"}
setting-endpoint-hidden = tiene *** en lugar de su consulta, y no coincide con la URL guardada
    .next = escriba la URL entera, u omita push para conservar la guardada
setting-endpoint-braces = tiene llaves alrededor de algo que no es key
    .next = use {"{"}key{"}"}, el único marcador
setting-endpoint-key = tiene {"{"}key{"}"} donde no puede estar
    .next = use {"{"}key{"}"} solo en la ruta o después de ?
setting-origin = tiene una entrada que no es un origen
    .next = escriba solo esquema, host y puerto, por ejemplo https://app.example.com
setting-origin-path = tiene una entrada con algo después del host
    .next = escriba solo esquema, host y puerto, por ejemplo https://app.example.com
setting-log-filter = no es un filtro de niveles de log
    .next = escriba error, warn, info, debug, trace u off, o directivas como info,turno=debug
setting-variable = no es el nombre de una variable
    .next = escriba el nombre de la variable, por ejemplo MODULE_SECRET, y ponga el secreto en la variable
setting-name = no es un nombre
    .next = escriba de 1 a { $max } caracteres sin caracteres de control
setting-identifier = no es un nombre de la base
    .next = escriba de 1 a 63 bytes sin caracteres de control
setting-identifier-dot = tiene un punto
    .next = quite el punto: solo las tablas y las vistas tienen esquema
setting-relation = no es el nombre de una tabla
    .next = escriba TABLA o ESQUEMA.TABLA, sin comillas
setting-condition = no es una condición
    .next = escriba una condición de 1 a { $max } bytes, u omita la clave
setting-network = tiene una entrada que no es una red
    .next = escriba redes como 10.0.0.0/8 o 192.168.1.7

# Values that conflict with others.

setting-metrics-address = es la misma dirección que listen
    .next = dé a las métricas un puerto propio
setting-max-ttl = es { $number }, y debe ser al menos ttl_ms, que es { $ttl }
    .next = suba max_ttl_ms o baje ttl_ms
setting-heartbeat = es { $number }, y debe ser menor que ttl_ms, que es { $ttl }
    .next = baje heartbeat_interval_ms o suba ttl_ms
setting-queue-kind = falta
    .next = agregue kind = "lane", "inbox" o "sync"
setting-queue-fields = no se acepta: { $cause }
    .next = corrija la tabla
setting-push-url = no tiene url
    .next = agregue url = "https://…"
setting-deliver-url = no tiene url
    .next = agregue url = "https://…/{"{"}key{"}"}"
setting-push-method = debe ser POST, PUT o PATCH
    .next = escriba uno de ellos, en mayúsculas
setting-push-timeout = es más de lo que dura una entrega de esta cola, que son { $hold } ms
    .next = acórtelo, o dé a la cola un max_hold_ms mayor
setting-push-private = lleva a una dirección privada
    .next = póngala en el archivo de configuración, o permita allí su red con push.allow
setting-push-secret-name = debe empezar con { $prefix }
    .next = defina una variable del servidor cuyo nombre empiece con { $prefix }, y nombre esa
setting-push-secret-unset = no está definida en este servidor
    .next = defina una variable del servidor cuyo nombre empiece con { $prefix }, y nombre esa
setting-source-missing = falta
    .next = agregue { $field }, o parta de preset = "{ $preset }"
setting-source-watch = falta
    .next = ponga las columnas cuyo cambio importa
setting-source-current = necesita current_when
    .next = agregue current_when, o quite one_current_per_key
setting-source-queue = no se acepta: { $cause }
    .next = elija otro nombre
setting-columns-empty = es una lista vacía
    .next = nombre al menos una columna
setting-columns-twice = nombra { $column } dos veces
    .next = quite una de ellas
setting-trigger-missing = falta, y el nombre de esta fuente no puede servir de nombre
    .next = agregue trigger con un nombre de 63 bytes como mucho, sin puntos
setting-actions-same = da a las dos el mismo nombre
    .next = dé a cada acción un nombre propio
setting-actions-both = debe nombrar update y deactivate
    .next = escriba actions = {"{"} update = "…", deactivate = "…" {"}"}
setting-source-shared = es también el de la fuente { $source }
    .next = dé a cada fuente un { $field } propio
setting-source-kind = debe ser "sync", porque la fuente { $source } usa la cola
    .next = escriba kind = "sync"
setting-source-owns = es de la fuente { $source }, que usa la cola
    .next = dé { $field } en su [[sync.source]]
secret-unset = la variable { $variable }, que debe firmar las entregas, no está definida
    .next = ponga el secreto en { $variable }, o quite `secret_env` para enviar sin firma

# Production.

production-unsafe = producción no arranca con estos valores:{ $causes }
    .next = { $steps }
production-leave = o use --env development en la máquina de un desarrollador
production-push-private = con push.allow_private los destinos puestos por la API llegan a cualquier dirección privada
    .next = nombre en push.allow las redes deseadas, y quite push.allow_private
production-cors-all = cors_origins tiene "*", así que cualquier página del mundo puede llamar al servidor
    .next = ponga en cors_origins los orígenes de sus páginas
production-cors-http = cors_origins tiene { $origin }, una página que cualquiera en el camino puede cambiar
    .next = sirva esa página por https y escriba https:// en cors_origins
production-url-http = public_url es { $url }, así que los tokens y las sesiones viajarían sin cifrar
    .next = sírvalo por https y escriba https:// en public_url
production-oidc-http = oidc.issuer es { $url }, así que los accesos viajarían sin cifrar
    .next = escriba en oidc.issuer la dirección https:// del proveedor
production-listen = listen es { $address }, a la que otros llegan, y ningún valor dice que haya HTTPS delante
    .next = ponga en public_url la dirección https:// que usa la gente, o behind_proxy = true, o escuche en 127.0.0.1
production-memory = database está en memoria y termina con el proceso
    .next = dé a la base un archivo, por ejemplo sqlite:/var/lib/turno/turno.db
production-plaintext = a { $hosts } se llega sin TLS, así que las contraseñas y los datos se pueden leer en el camino
    .next = agregue sslmode=verify-full a la URL de la base (al menos sslmode=require), o ponga database_plaintext = true
production-database = la base funciona con { $setting }, así que el trabajo aceptado se puede perder
    .next = actívelo en postgresql.conf y reinicie PostgreSQL
production-demo-user = { $user } es una cuenta de la demo
    .next = quítela: turno user remove { $user }
