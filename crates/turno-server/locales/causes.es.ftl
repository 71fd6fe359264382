# Causes from further inside, in Spanish: the same names as in causes.en.ftl, which holds the key.

# JSON and forms.

because-at = { $cause }, en la línea { $line }, columna { $column }
because-broke-off = el cuerpo se cortó antes de su fin; envíelo entero
because-eof = se acabó antes de que terminara { $what }
because-eof-value = un valor
because-eof-object = un objeto
because-eof-list = una lista
because-eof-string = un texto
because-trailing = sobra lo que sigue
because-trailing-comma = sobra una coma al final
because-key-string = el nombre de un campo va entre comillas
because-control = hay un carácter de control dentro de un texto
because-escape = la secuencia con barra invertida no existe
because-number = el número no está bien escrito
because-range = el número es demasiado grande
because-unicode = el carácter Unicode no existe
because-surrogate = falta la segunda mitad de un carácter Unicode
because-deep = hay demasiados niveles, uno dentro de otro
because-digit = no es un número entero
because-empty-number = falta el número
because-large = el número es demasiado grande
because-small = el número es demasiado pequeño
because-bool = debe ser true o false
because-missing-field = falta el campo { $field }
because-unknown-field = el campo { $field } no se conoce; { $expected }
because-twice = el campo { $field } está dos veces
because-variant = { $found } no se conoce; { $expected }
because-list = es una lista, y se espera un objeto
because-type = no es del tipo que corresponde ({ $found }); { $expected }
because-value = el valor no sirve ({ $found }); { $expected }
because-length = el largo no sirve ({ $found }); { $expected }
because-no-variant = no tiene ninguna de las formas de { $name }
because-no-fields = aquí no hay campos
because-one-of = se espera uno de { $words }
because-expected = se espera { $what }
because-json-value = un valor
because-json-ident = true, false o null
because-string = un texto
because-boolean = true o false
because-sequence = una lista
because-map = un objeto
because-i64 = un número entero
because-u32 = un número entero, desde 0
because-u64 = un número entero, desde 0
because-missing = falta

# Names and bounds.

because-name-empty = { $what } está vacío; dele de 1 a { $max } caracteres
because-name-long = { $what } tiene más de { $max } caracteres; acórtelo
because-name-control = { $what } contiene un carácter de control; quítelo
because-resource = el recurso
because-user-id = el usuario
because-instance = el nombre de la instancia
because-queue-name = el nombre de la cola
because-item-id = el id del elemento
because-key = el texto de la clave
because-scope = el ámbito
because-request-id = el id del pedido
because-sku = el código del artículo
because-serial = el número de serie
because-reason-empty = está vacío; diga por qué, para quien lea la auditoría
because-text-long = tiene más de { $max } bytes; acórtelo
because-zero-or-more = 0 o más
because-policy = { $field } debe estar entre { $min } y { $max }
because-is-between = es { $number }, y debe estar entre { $min } y { $max }
because-between = entre { $min } y { $max }
because-must-between = debe estar entre { $min } y { $max }
because-lie = debe estar entre 0 y un año
because-to-characters = de 1 a { $max } caracteres, sin caracteres de control
because-title = debe tener de 1 a { $max } caracteres
because-to = de { $min } a { $max }
because-split = como mucho { $max }, y son { $number }; divídalo
because-beginnings = como mucho { $max }; dé los comienzos que comparten
because-items = como mucho { $max } elementos por vez, y son { $number }
because-deliveries = como mucho { $max } entregas por vez, y son { $number }
because-at-once = como mucho { $max } por vez
because-at-most = como mucho { $max }, y son { $number }
because-nul = no puede tener un carácter NUL
because-ttl = el plazo debe estar entre { $min } y { $max } ms
because-concurrency = la concurrencia de un proceso debe estar entre 1 y { $max }
because-answer = una respuesta se guarda hasta { $max } bytes, y sin NUL

# Words that are known.

because-no-state = { $found } no es un estado de un elemento; los estados son { $words }
because-no-status = { $found } no es un estado de una tarea; elija otro
because-no-permission = { $found } no es un permiso; hay { $words }
because-no-role = { $found } no es un rol; hay viewer, editor y admin
because-roles = viewer, editor o admin
because-topic = { $found } no es un tema; use leases, tasks, queues, sync o audit
because-no-topic = no hay un tema { $found }; hay { $words }
because-boolean-word = true o false
because-format = { $found } no se conoce; csv o json
because-no-place = { $found } no es un lugar de un historial
because-no-head = { $found } no es el final de una auditoría; se espera NÚMERO:HUELLA, como lo muestra `audit verify`
because-cursor = pase el next_cursor de la página anterior, sin cambiarlo
because-delivery = no es una entrega; pase el texto tal como se entregó

# Tasks and queues.

because-engine-looks = el motor revisa los bloqueos por su cuenta, cuando vencen
because-serialized-quantity = una línea con series tiene números de serie, y no cantidad
because-serialized-none = una línea con series necesita sus números de serie
because-one-needed = hace falta al menos uno
because-quantity-serials = una línea por cantidad tiene cantidad, y no números de serie
because-quantity-none = una línea por cantidad necesita su cantidad
because-serial-twice = { $serial } está dos veces
because-no-lines = una tarea necesita al menos una línea antes de estar lista
because-takeable = una tarea que se puede tomar tiene al menos una
because-lives = { $what } vive de 1 a { $max } segundos
because-a-link = un enlace
because-a-session = una sesión
because-larger = pasa de { $max } bytes
because-nul-json = contiene un carácter NUL, que ningún texto JSON tiene
because-lock-out = deshabilite a la persona; sus bloqueos terminan con eso
because-whose = una cola por clave o de sincronización necesita saber de quién es el elemento
because-no-key = una entrega sin clave no es de ninguna fuente

# People and tokens.

because-not-around = quien actúa por alguien no puede pasar por encima de las reglas
because-behalf = solo quien inició sesión puede actuar por otro; identifíquese primero
because-hold-as = { $user } no puede tener nada como { $other }; actúe en su nombre
because-copy = solo el token de un administrador completo puede copiar la base
because-randomness = el sistema no tiene números al azar: { $cause }
because-database = la base se da como sqlite:RUTA o postgres://USUARIO@EQUIPO/BASE
because-token-people = un token para algunos recursos no puede administrar personas
because-own-token = solo un token propio y completo puede cambiar su cuenta
because-role-token = { $user } es { $role } y no puede { $permission }, así que ningún token suyo puede; cambie antes el rol
because-token-expired = el token ya estaría vencido; dele una fecha posterior
because-tokens-most = { $user } tiene { $max } tokens, que es el máximo; revoque alguno
because-session-holds = una sesión no puede tener { $permission }; use un token propio
because-outlives = este token no puede hacer otro que viva más o sea de otro tipo
because-reach = un token no puede llegar más lejos que el que lo hace
because-admin-already = ya hay un administrador; pídaselo, o haga un enlace para entrar como alguien
because-nobody-signed-in = nadie que haya iniciado sesión puede { $what }; lo hace el programa mismo
because-make-link = hacer un enlace
because-use-link = usar un enlace
because-own-password = solo la persona misma puede cambiar su contraseña

# What there is not.

because-task-line = la línea { $line } de la tarea { $task }
because-task = la tarea { $field }
because-line = la línea { $field }
because-queue = la cola { $field }
because-source = la fuente { $field }
because-token = el token { $field }
because-the-link = el enlace

# The audit's chain.

because-chain-place = la entrada { $found } está donde va la { $expected }
because-chain-changed = la entrada { $n } no es lo que era cuando se escribió
because-chain-end = la cadena termina en la entrada { $found }, y debería terminar en la { $expected }
because-chain-kept = la entrada { $n } tiene otra huella que la guardada en otra parte; la cadena se reescribió

# Sources.

because-no-triggers = los triggers necesitan PostgreSQL; en SQLite una cola de sincronización se alimenta por la API
because-secret-not-set = la variable { $name }, que debe firmar las entregas, no está definida
because-set-the-secret = ponga el secreto en { $name }, o quite `secret_env` para enviar sin firma
because-no-triggers-next = ponga los cambios en la cola con `turno queue enqueue` o { $way }, o use PostgreSQL
because-no-table = no existe la tabla { $table }
because-no-table-next = créela primero, o corrija `table` de la fuente: las mayúsculas cuentan, y va sin comillas
because-not-table = { $table } no es una tabla
because-not-table-next = nombre una tabla común o particionada
because-no-column = la tabla { $table } no tiene la columna { $columns }
because-no-column-next = corrija `key`, `watch` y `payload` de la fuente; las mayúsculas cuentan
because-key-type = la columna { $name } es de tipo { $kind }, que no puede ser una clave
because-key-type-next = elija una columna de números enteros, numeric, text, uuid o un enum
because-too-long-for = { $given } es demasiado largo para { $kind }
because-not-a-key = esto no puede ser una clave de la columna { $name }: { $said }
because-not-a-key-next = dé un valor de { $name } tal como está en la tabla
because-row-delivered = lo que se entrega es la fila de { $table }; corríjala allí, y reintente sin payload
because-key-or-all = o bien key, o bien all
because-unreadable = { $role } no puede leer { $table }
because-unreadable-next = otorgue usage sobre su esquema, y select sobre { $table }, a { $role }
because-hidden = la seguridad por filas de { $table } le oculta filas a { $role }, y parecería que ya no están
because-hidden-next = dé bypassrls a { $role }, o una política para todas las filas
because-condition = las condiciones no sirven: { $cause }
because-condition-next = corrija `current_when` y `enqueue_when`; los nombres fuera de pg_catalog llevan su esquema
because-kind-stays = la cola { $name } tiene elementos sin terminar o agotados, así que sigue siendo de tipo { $kind }; vacíela primero, o use otro nombre
because-no-queue = no hay una cola { $queue } de sincronización
because-no-queue-next = créela, o deje que lo haga `turno sync install`
because-a-table = la tabla
because-a-view = la vista
because-an-index = el índice
because-a-trigger = el trigger
because-a-function = la función
because-a-materialized-view = la vista materializada
because-a-foreign-table = la tabla foránea
because-a-sequence = la secuencia
because-a-relation = la relación
because-taken = { $what } { $name } ya existe y no es de esta fuente
because-taken-next = elija otro nombre en la fuente, o quite lo que hay
because-duplicates = más de una fila vigente para { $keys } de { $table }: { $found }
because-duplicates-next = deje una fila vigente por clave e instale de nuevo; o ponga one_current_per_key = false
because-ident-empty = un nombre de la base está vacío; dele de 1 a { $max } bytes
because-ident-long = { $name } tiene más de { $max } bytes, y la base lo cortaría; acórtelo
because-ident-nul = un nombre o un texto contiene un carácter NUL; quítelo
because-ident-next = corríjalo en la configuración

# Settings of a queue.

because-is-no-url-of-http = no es una URL de HTTP
because-write-http-host-port-path-or = escriba http://HOST[:PUERTO]/RUTA o https://HOST[:PUERTO]/RUTA
because-has-a-user-or-a-password = tiene un usuario o una contraseña
because-leave-user-and-password-out-of = quite usuario y contraseña; use `secret_env` donde se deba firmar
because-has-stars-where-the-rest-is = tiene *** donde se oculta el resto, y no es lo que se guarda aquí con su resto oculto
because-write-the-whole-url-or-leave = escriba la URL entera, u omita push para conservar la que hay
because-has-braces-around-something-other-than = tiene llaves alrededor de algo que no es key
because-the-only-placeholder-is-key = lo único que se reemplaza es {"{"}key{"}"}
because-has-key-where-it-may-not = tiene {"{"}key{"}"} donde no puede estar
because-use-key-in-the-path-or = use {"{"}key{"}"} solo en la ruta o después de ?
because-is-not-the-name-of-a = no es el nombre de una variable
because-write-the-variables-name-for-example = escriba el nombre de la variable, por ejemplo MODULE_SECRET, y ponga el secreto en la variable
because-is-longer-than-a-delivery-of = es más de lo que dura una entrega de esta cola, que son { $number } ms
because-shorten-it-or-give-the-queue = acórtelo, o dé a la cola un max_hold_ms mayor
because-raise-max-ttl-ms-or-lower = suba max_ttl_ms o baje ttl_ms
because-correct-the-table = corrija la tabla
because-private-address = lleva a una dirección privada
because-private-address-next = póngalo en el archivo de configuración, o permita allí su red con push.allow
because-begin-with = debe empezar con { $field }
because-begin-with-next = defina en el servidor una variable cuyo nombre empiece con { $field }, y nombre esa
because-form = es { $found }, y debe ser { $expected }
because-write-number = escriba un número de { $min } a { $max }
because-did-you-mean = ¿quiso decir { $word }?
because-write = escriba { $what }
because-must-be = debe ser { $what }
because-is-missing = falta
because-no-url = no tiene url
because-methods = POST, PUT o PATCH
because-capitals = uno de ellos, en mayúsculas
because-not-set = no está definida en este servidor

# Put together: what it is about, and what to do.

because-of = { $field }: { $cause }
because-both = { $cause }; { $then }
because-or = { $one } o { $two }
